{
  description = "Measures lost TCP handshakes, simulates queue disciplines, and deploys them on Linux";

  outputs = { nixpkgs, ... }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = nixpkgs.legacyPackages.${system}.callPackage ./packaging/nix/package.nix { };
      });
      overlays.default = final: _: { gentle = final.callPackage ./packaging/nix/package.nix { }; };
    };
}
