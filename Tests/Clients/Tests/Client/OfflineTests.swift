#if os(Linux)
  import Foundation
  import Testing

  /// The commands of the article about offline edits.
  @Suite("The program of the article about offline edits")
  struct OfflineTests {
    /// The folder of the program, with the server's file.
    private let folder: URL

    init() throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private var article: String {
      get throws {
        let page = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
          .appendingPathComponent("../../../../Modules/Outbox/CoherenceOutbox.docc/OfflineFirst.md")
        return try String(contentsOf: page, encoding: .utf8)
      }
    }

    private var server: URL { folder.appendingPathComponent("server.json") }

    @Test func `each command of the article has the output of the article, a killed run included`() throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let article = try article
      let json = try #require(article.firstMatch(of: /```json\n((?:.*\n)*?)```/)).1
      try String(json).write(to: server, atomically: true, encoding: .utf8)
      var count = 0
      for block in article.components(separatedBy: "```console\n").dropFirst() {
        let lines = block.prefix(upTo: try #require(block.range(of: "```")).lowerBound)
        for part in "\n\(lines)".components(separatedBy: "\n$ ").dropFirst() {
          let (command, output) = part.split(at: "\n")
          #expect(try run(command) == output.trimmingCharacters(in: .newlines), "\(command)")
          count += 1
        }
      }
      #expect(count >= 10)
    }

    /// Runs a command of the article and returns its output.
    private func run(_ command: String) throws -> String {
      let words = Self.words(of: command)
      if let index = words.firstIndex(of: "chores"), words.contains("swift") {
        var program = Program("chores", arguments: Array(words[(index + 1)...]), dataHome: folder)
        program.directory = folder
        let crashes = words.first == "CRASH=1"
        if crashes { program.environment = ["CRASH": "1"] }
        let (process, output) = try program.run()
        #expect(crashes ? process.terminationReason == .uncaughtSignal : process.terminationStatus == 0)
        return output.trimmingCharacters(in: .newlines)
      }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", command]
      process.currentDirectoryURL = folder
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      return ""
    }

    /// The words of a command; quotation marks keep a word together.
    private static func words(of command: String) -> [String] {
      command.split(separator: "\"", omittingEmptySubsequences: false).enumerated().flatMap { index, part in
        index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
      }
    }

    @Test func `the files of the article equal the compiled program`() throws {
      let sources = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("../../Offline/Sources/chores")
      let article = try article
      for name in try FileManager.default.contentsOfDirectory(atPath: sources.path) {
        let program = try String(contentsOf: sources.appendingPathComponent(name), encoding: .utf8)
        #expect(article.contains("`Sources/chores/\(name)`:\n\n```swift\n\(program)```\n"), "\(name)")
      }
    }
  }

  extension String {
    /// The parts before and behind the first separator.
    fileprivate func split(at separator: Character) -> (String, String) {
      guard let index = firstIndex(of: separator) else { return (self, "") }
      return (String(self[..<index]), String(self[self.index(after: index)...]))
    }
  }
#endif
