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

  #if os(Linux)
    @Test func `the program finds what it saved, now and when it is run again`() throws {
      let program = Program("coherence-example")
      defer { program.remove() }
      #expect(try program.output() == "[\"Nina Simone\"]\n")
      #expect(try program.output() == "[\"Nina Simone\", \"Nina Simone\"]\n")
      let file = program.dataHome.appendingPathComponent("Coherence/Music.sqlite")
      #expect(FileManager.default.fileExists(atPath: file.path))
    }
  #endif
}
