#if os(Linux)  // Elsewhere the compiler needs the flags of an SDK.
  import Foundation
  import Testing
  import TestSupport

  /// Fields of properties whose types no attribute has. A comment at the end of a line has a part of the line's only error.
  @Suite("Mistakes with fields")
  struct FieldMistakesTests {
    private static let source = """
      import CoherenceCore
      import CoherenceMapping
      import Foundation

      enum Kind: String, Codable { case walk, ride }
      enum Grade: String, Codable, CaseIterable, AttributeConvertible { case easy, hard }
      struct Place: Codable, Sendable { var city = "" }

      struct Trip: Codable {
        let id: UUID
        var start: Date?
        var tags: [String]
        var riders: UInt8
        var kind: Kind?
        var grade: Grade?
        var place: Place
      }

      let trips = Mapping<Trip>("Trip", uid: \\.id) {
        Field("id", \\.id)
        Field("start", \\.start, renamedFrom: "begin", "date")
        Field("grade", \\.grade, default: .easy)
        Field("city", \\.place.city, codingKey: "place.city", converting: { _ in "" })
        Field("labels", json: \\.tags, codingKey: "tags")
        Field("tags", \\.tags) // 'json:'
        Field("riders", \\.riders) // 'json:'
        Field("kind", \\.kind, codingKey: "kind") // 'json:'
        Field("place", \\.place, renamedFrom: "stop") // 'json:'
      }

      """

    @Test func `a field whose type is no attribute type has one error, which names the correction`()
      async throws
    {
      let errors = try await Self.errors(of: Self.source)
      for (index, line) in Self.source.components(separatedBy: "\n").enumerated() {
        let found = errors[index + 1] ?? []
        let expected = line.firstMatch(of: /\/\/ (.*)/)?.1
        let isAsExpected = expected.map { text in found.count == 1 && found[0].contains(text) } ?? found.isEmpty
        #expect(isAsExpected, "\(line): \(found)")
      }
      #expect(errors[0] == nil, "\(errors)")
    }

    /// The errors of the compiler for a source, by line; those without a place are at 0.
    private static func errors(of source: String) async throws -> [Int: [String]] {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift")
      try source.write(to: file, atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(at: file) }
      let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      // A build of the tests has the modules for the host, for the target, or for both.
      let suffix =
        ["-tool", ""].first { suffix in
          let module = products.appendingPathComponent("Modules\(suffix)/CoherenceMapping.swiftmodule")
          return FileManager.default.fileExists(atPath: module.path)
        } ?? ""
      let runtime = products.appendingPathComponent("CoherenceRuntime\(suffix).build/module.modulemap")
      let text = try await CompilerRun.diagnostics([
        "-typecheck", "-parse-as-library", "-swift-version", "6", "-I",
        products.appendingPathComponent("Modules\(suffix)").path, "-Xcc", "-fmodule-map-file=\(runtime.path)",
        file.path,
      ])
      var errors: [Int: [String]] = [:]
      for line in text.components(separatedBy: "\n") {
        if line.hasPrefix("<unknown>:0: error:") { errors[0, default: []].append(line) }
        guard let match = line.firstMatch(of: /^[^ <].*?:(\d+):\d+: error: (.*)/) else { continue }
        errors[Int(match.1) ?? 0, default: []].append(String(match.2))
      }
      return errors
    }
  }
#endif
