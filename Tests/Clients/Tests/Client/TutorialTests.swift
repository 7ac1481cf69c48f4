#if os(Linux)
  import Foundation
  import Testing

  // The listener on the loopback interface.
  @testable import coherence_sync

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

    @Test func `the article shows each file of the package`() throws {
      let page = Self.tutorial.appendingPathComponent(
        "../../../Modules/Coherence/Coherence.docc/FromAnEmptyFolder.md")
      let article = try String(contentsOf: page, encoding: .utf8)
      let files = FileManager.default.enumerator(atPath: Self.tutorial.path)?.compactMap { $0 as? String } ?? []
      let sources = files.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".json") }
      #expect(sources.count >= 14)
      for file in sources {
        let text = try String(contentsOf: Self.tutorial.appendingPathComponent(file), encoding: .utf8)
        #expect(article.contains("\n\(text)```\n"), "The tutorial does not show \(file).")
      }
    }

    private func run(_ dataHome: URL, _ arguments: String...) throws -> String {
      try Program("shelf", arguments: arguments, dataHome: dataHome).output()
    }

    /// The files of the tutorial's folder `service`, as a server of static files.
    private static func service() throws -> HTTPListener {
      let folder = tutorial.appendingPathComponent("Last/service", isDirectory: true)
      return try HTTPListener { target, _ in
        let body = (try? Data(contentsOf: folder.appendingPathComponent(target))) ?? Data()
        let status = body.isEmpty ? "404 Not Found" : "200 OK"
        let head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Data(head.utf8) + body
      }
    }
  }
#endif
