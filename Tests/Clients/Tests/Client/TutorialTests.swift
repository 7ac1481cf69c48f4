#if os(Linux)
  import Foundation
  import Listener
  import Testing

  @Suite("The tutorial", .timeLimit(.minutes(15)))
  struct TutorialTests {
    private static let tutorial = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Tutorial", isDirectory: true)

    @Test func `the first program saves the album once and shows the album`() throws {
      let program = Program("shelf-first")
      defer { program.remove() }
      #expect(try program.output() == "[\"Pastel Blues\"]\n")
      #expect(try program.output() == "[\"Pastel Blues\"]\n")
    }

    @Test func `the last program opens the file of the first, synchronises, and works without the service`() throws {
      let first = Program("shelf-first")
      defer { first.remove() }
      _ = try first.output()
      #expect(try run(first.dataHome) == "Unknown: Pastel Blues, 0 tracks\n")
      #expect(
        try run(first.dataHome, "add", "Silk & Soul", "LSP-3837", "Nina Simone", "It Be's That Way", "Turning Point")
          == "Unknown: Pastel Blues, 0 tracks\nNina Simone: Silk & Soul, 2 tracks\n")
      #expect(
        try run(first.dataHome, "favourite", "LSP-3837")
          == "Unknown: Pastel Blues, 0 tracks\n* Nina Simone: Silk & Soul, 2 tracks\n")
      let albums = """
        Cesária Évora: Miss Perfumado, 0 tracks
        Nina Simone: Pastel Blues, 0 tracks
        * Nina Simone: Silk & Soul, 2 tracks
        Nina Simone: Wild Is the Wind, 0 tracks

        """
      var service: HTTPListener? = try Self.service()
      let address = try #require(service?.url.absoluteString)
      #expect(try run(first.dataHome, "sync", address) == "3 inserted, 1 updated\n" + albums)
      #expect(try run(first.dataHome, "sync", address) == "0 inserted, 0 updated\n" + albums)
      service = nil
      let offline = "The service cannot be reached. The shelf as of the last sync:\n"
      #expect(try run(first.dataHome, "sync", address) == offline + albums)
    }

    @Test(arguments: [("First", "### 3."), ("Last", "")])
    func `the files of the article equal the compiled package`(folder: String, end: String) throws {
      let page = Self.tutorial.appendingPathComponent("../../../Modules/Coherence/Coherence.docc/FromAnEmptyFolder.md")
      let article = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
      let step = article.prefix { end.isEmpty || !$0.hasPrefix(end) }
      let package = Self.tutorial.appendingPathComponent(folder, isDirectory: true)
      let names = FileManager.default.enumerator(atPath: package.path)?.compactMap { $0 as? String } ?? []
      let files = Self.files(of: step)
      #expect(Set(files.keys) == Set(names.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".json") }))
      for (name, text) in files {
        let compiled = try String(contentsOf: package.appendingPathComponent(name), encoding: .utf8)
        #expect(text == compiled, "The article and the package differ in \(name).")
      }
    }

    /// The files of a page by their paths: the last of the blocks that follow the words "Write" or "Replace" and a path.
    private static func files(of page: ArraySlice<String>) -> [String: String] {
      var files: [String: String] = [:]
      var lines = page
      var path: String?
      while let line = lines.popFirst() {
        if line.hasPrefix("```") {
          let block = lines.prefix { $0 != "```" }
          lines = lines[block.endIndex...].dropFirst()
          if let path { files[path] = block.joined(separator: "\n") + "\n" }
          path = nil
        } else {
          // A line break may separate the word and the path.
          path =
            line.firstMatch(of: /(?:Write |Replace |^)`([A-Za-z0-9\/-]+\.(?:swift|json))`/).map { String($0.1) } ?? path
        }
      }
      return files
    }

    private func run(_ dataHome: URL, _ arguments: String...) throws -> String {
      try Program("shelf", arguments: arguments, dataHome: dataHome).output()
    }

    /// The files of the tutorial's folder `service`, as a server of static files.
    private static func service() throws -> HTTPListener {
      let folder = tutorial.appendingPathComponent("Last/service", isDirectory: true)
      return try HTTPListener { request in
        let body = (try? Data(contentsOf: folder.appendingPathComponent(request.path))) ?? Data()
        let status = body.isEmpty ? "404 Not Found" : "200 OK"
        let head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Data(head.utf8) + body
      }
    }
  }
#endif
