import Foundation
import Testing

@Suite("The example of the README")
struct ReadmeExampleTests {
  private static let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test func `the README shows the program that is compiled here`() throws {
    let readme = try String(contentsOf: Self.package.appendingPathComponent("../../README.md"), encoding: .utf8)
    let program = try String(contentsOf: Self.package.appendingPathComponent("Example/main.swift"), encoding: .utf8)
    #expect(readme.contains("## Example\n\n```swift\n\(program)```\n"))
  }

  @Test func `the program runs and prints what it saved`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let output = Pipe()
    let process = Process()
    process.executableURL = Self.products.appendingPathComponent("coherence-example")
    process.environment = ProcessInfo.processInfo.environment.merging(["XDG_DATA_HOME": directory.path]) { $1 }
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(text == "[\"Nina Simone\"]\n")
    #if os(Linux)
      #expect(FileManager.default.fileExists(atPath: directory.appendingPathComponent("Coherence/Music.sqlite").path))
    #endif
  }

  /// The directory that the build puts executables in, beside the tests.
  private static var products: URL {
    let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
    let tests = bundles.first ?? URL(fileURLWithPath: CommandLine.arguments[0])
    return tests.deletingLastPathComponent()
  }
}
