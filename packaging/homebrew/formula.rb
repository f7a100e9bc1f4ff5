# The functions of Homebrew that gentle.rb calls: ruby formula.rb FORMULA SOURCES PREFIX installs from the unpacked
# sources and runs the formula's test.
require "digest"
require "open3"
require "pathname"
require "uri"

formula, sources, prefix = ARGV
# The encoding of Homebrew's locale.
Encoding.default_external = Encoding::UTF_8

class Formula
  FACTS = %i[desc homepage url sha256 license].freeze

  class << self
    attr_reader :facts, :check

    FACTS.each { |fact| define_method(fact) { |value| (@facts ||= {})[fact] = value } }

    # Homebrew installs these first; here, scripts/bootstrap does.
    def depends_on(_dependency) = nil

    def any_of(*licenses) = licenses

    def test(&block) = @check = block
  end

  attr_reader :prefix

  def initialize(prefix) = @prefix = Pathname(prefix)

  def bin = prefix / "bin"

  def system(*command)
    Kernel.system(*command.map(&:to_s), exception: true)
  end

  def shell_output(command)
    output, status = Open3.capture2(command)
    raise "#{command}: #{status}" unless status.success?

    output
  end

  def assert_match(wanted, text)
    raise "expected #{wanted.inspect} in:\n#{text}" unless text.match?(wanted)
  end
end

load formula
missing = Formula::FACTS - Gentle.facts.keys
raise "the formula lacks #{missing}" unless missing.empty?

archive = URI(Gentle.facts[:url])
if archive.scheme == "file" && Digest::SHA256.file(archive.path).hexdigest != Gentle.facts[:sha256]
  raise "#{archive.path} has another digest"
end

Dir.chdir(sources)
gentle = Gentle.new(prefix)
gentle.install
gentle.instance_eval(&Gentle.check)
