{ lib, stdenv, rustPlatform }:

rustPlatform.buildRustPackage {
  pname = "gentle";
  inherit ((lib.importTOML ../../Cargo.toml).workspace.package) version;

  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [ "--bin" "gentle" ];
  buildType = "dist";
  # The tests need a kernel, browsers and captures, and take an hour.
  doCheck = false;

  installPhase = ''
    runHook preInstall
    patchShebangs scripts/install
    scripts/install target/${stdenv.hostPlatform.rust.cargoShortTarget}/dist/gentle $out
    runHook postInstall
  '';

  meta = {
    description = "Measures lost TCP handshakes, simulates queue disciplines, and deploys them on Linux";
    license = with lib.licenses; [ mit asl20 ];
    platforms = lib.platforms.linux;
    mainProgram = "gentle";
  };
}
