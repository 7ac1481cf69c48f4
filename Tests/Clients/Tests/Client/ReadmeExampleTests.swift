import Foundation
import Testing

@Suite("The example of the README")
struct ReadmeExampleTests {
  private static let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test func `the README shows the program that is compiled here`() throws {
    let readme = try String(contentsOf: Self.package.appendingPathComponent("../../README.md"), encoding: .utf8)
    let program = try String(contentsOf: Self.package.appendingPathComponent("Example/Example.swift"), encoding: .utf8)
    #expect(readme.contains("## Example\n\n```swift\n\(program)```\n"))
  }

  #if os(Linux)  // Elsewhere the data has a place of the system's choice, which a test leaves alone.
    @Test func `the program finds what it saved, now and when it is run again`() throws {
      let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
        UUID().uuidString, isDirectory: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      #expect(try output(dataHome: directory) == "[\"Nina Simone\"]\n")
      #expect(try output(dataHome: directory) == "[\"Nina Simone\", \"Nina Simone\"]\n")
      #expect(FileManager.default.fileExists(atPath: directory.appendingPathComponent("Coherence/Music.sqlite").path))
    }

    /// Runs the program with its data in a directory, and answers what it prints.
    private func output(dataHome: URL) throws -> String {
      let output = Pipe()
      let process = Process()
      process.executableURL = Self.products.appendingPathComponent("coherence-example")
      process.environment = ProcessInfo.processInfo.environment.merging(["XDG_DATA_HOME": dataHome.path]) { $1 }
      process.standardOutput = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      return text
    }

    /// The directory that the build puts executables in, the tests' own among them.
    private static var products: URL { URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent() }
  #endif
}
