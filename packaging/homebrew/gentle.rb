class Gentle < Formula
  desc "Measures lost TCP handshakes, simulates queue disciplines, and deploys them"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "build", "--locked", "--profile", "dist", "--bin", "gentle"
    system "scripts/install", "target/dist/gentle", prefix
  end

  test do
    assert_match "Causes", shell_output("#{bin}/gentle analyze --example")
  end
end
