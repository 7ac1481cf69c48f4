import Foundation
import Testing

@Suite("The examples of the README")
struct ReadmeExampleTests {
  private static let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test(arguments: [("## Example", "Example/Example.swift"), ("### Structures", "Structures/Structures.swift")])
  func `the README shows the program compiled here`(title: String, file: String) throws {
    let readme = try String(contentsOf: Self.package.appendingPathComponent("../../README.md"), encoding: .utf8)
    let program = try String(contentsOf: Self.package.appendingPathComponent(file), encoding: .utf8)
    #expect(readme.contains("\n\(title)\n\n```swift\n\(program)```\n"))
  }

  #if os(Linux)
    @Test func `the program finds its saved objects, now and in the next run`() throws {
      let program = Program("coherence-example")
      defer { program.remove() }
      #expect(try program.output() == "[\"Nina Simone\"]\n")
      #expect(try program.output() == "[\"Nina Simone\", \"Nina Simone\"]\n")
      let file = program.dataHome.appendingPathComponent("Coherence/Music.sqlite")
      #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `a changed entity is visible in every aggregate that contains it`() throws {
      let program = Program("coherence-structures")
      defer { program.remove() }
      let shown = "Ursula K. Le Guin: Lavinia\nUrsula K. Le Guin: The Dispossessed\n"
      #expect(try program.output() == shown)
      #expect(try program.output() == shown)
    }
  #endif
}
