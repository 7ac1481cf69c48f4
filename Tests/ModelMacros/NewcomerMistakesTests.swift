#if os(Linux)  // Elsewhere the compiler needs the flags of an SDK.
  import Foundation
  import Testing
  import TestSupport

  /// Mistakes with properties of entities that only the compiler finds, because they depend on the types. A comment at the
  /// end of a line has a part of the line's only error.
  @Suite struct NewcomerMistakesTests {
    private static let mistakes = """
      import CoherenceModelMacros
      import Foundation

      struct Style { var width = 1 }
      struct Paint: Codable { var color = "" }
      enum Shape: String { case round, square }
      enum CodedShape: String, Codable { case round, square }
      @Composite struct Size: Sendable, Equatable { var width: Double }
      func makeLabel() -> Label? { nil }

      @Entity final class Label: ManagedObject {
        var title = ""
        var style: Style // '@Transient'
        var formerStyle: Style? // '@Transient'
        var nextStyle = Style() // '@Transient'
        var paint: Paint? // '@Attribute(.codable)'
        var formerPaint = Paint() // '@Attribute(.codable)'
        var size: Size? // '@Attribute(.composite)'
        var formerSize: Size // '@Attribute(.composite)'
        var shape: Shape? // 'CaseIterable, AttributeConvertible'
        var formerShape: Shape = .round // 'CaseIterable, AttributeConvertible'
        var codedShape: CodedShape? // 'CaseIterable, AttributeConvertible'
        @Attribute(.unique) var code: CodedShape // 'CaseIterable, AttributeConvertible'
        var count: UInt // 'Int64'
        var formerCount: UInt8? = 3 // 'Int64'
        var parent: Label // '@Relationship(required: true)'
        @Attribute(.unique) var twin: Label? // '@Relationship'
        var origin: Label? = makeLabel() // '@Relationship'
        var anything: Any? // '@Transient'
        var existential: any Hashable // '@Transient'
      }

      """

    private static let correct = """
      import CoherenceModelMacros
      import Foundation

      enum Shape: String, Codable, CaseIterable, AttributeConvertible { case round, square }

      enum Drawing {
        @Entity class Sheet: ManagedObject {
          var title = ""
          var shape: Shape = .round
          var formerShape: Shape?
          var next: Sheet?
          var owner: Owner?
          private var secret: Owner?
          private(set) var maker: Owner?
          var `default`: Shape?
          var `in`: Optional<Drawing.Sheet>
          var link: WeakReference<Owner>?
          #Index<Sheet>([\\.next, \\.shape])
        }
      }

      @Subentity final class Page: Drawing.Sheet {
        var following: Page?
      }

      @Entity public final class Owner: ManagedObject {
        public var hash = ""
        public var id = UUID()
        @Relationship(inverse: \\Drawing.Sheet.owner) var sheets: ToMany<Drawing.Sheet>
        convenience init(context: ManagedObjectContext, hash: String) throws {
          try self.init(context: context)
          self.hash = hash
        }
      }

      func owners(_ page: Page, _ values: Page.Snapshot) -> ManagedObjectID? {
        page.owner?.hash = "x"
        page.shape = values.shape
        return values.following
      }

      """

    @Test func `a property with a type that the model cannot store has one error, which names the correction`()
      async throws
    {
      let errors = try await Self.errors(of: Self.mistakes)
      let lines = Self.mistakes.components(separatedBy: "\n")
      for (index, line) in lines.enumerated() {
        let found = errors[index + 1] ?? []
        let expected = line.firstMatch(of: /\/\/ (.*)/)?.1
        let isAsExpected = expected.map { text in found.count == 1 && found[0].contains(text) } ?? found.isEmpty
        #expect(isAsExpected, "\(line): \(found)")
      }
      #expect(errors[0] == nil, "\(errors)")
    }

    @Test func `the compiler accepts plain properties with enumerations and the classes of entities`() async throws {
      #expect(try await Self.errors(of: Self.correct).isEmpty)
    }

    @Test func `entities may have the usual names of generic parameters`() async throws {
      let source = """
        import CoherenceModelMacros

        @Entity class Root: ManagedObject { var name = "" }
        @Subentity final class Branch: Root { var height = 0 }
        @Entity class Key: ManagedObject { var name = "" }
        @Subentity class Value: Key { var text = "" }
        @Subentity final class Phrase: Value { var length = 0 }

        func text(of phrase: Phrase) -> String { phrase.name + phrase.text }

        """
      #expect(try await Self.errors(of: source).isEmpty)
    }

    @Test func `a module of the main actor declares entities as nonisolated`() async throws {
      let source = Self.correct.replacing(#/(public final |final )?class /#) { "nonisolated \($0.0)" }
      let isolated = source.replacing("func owners", with: "nonisolated func owners")
      #expect(try await Self.errors(of: isolated, options: ["-default-isolation", "MainActor"]).isEmpty)
    }

    /// The errors of the compiler for a source, by the line of the source, also for errors in expansions of macros.
    private static func errors(of source: String, options: [String] = []) async throws -> [Int: [String]] {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift")
      try source.write(to: file, atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(at: file) }
      let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      // A build of the tests has the modules for the host, and perhaps for the target besides.
      let host = products.appendingPathComponent("Modules-tool")
      let suffix = FileManager.default.fileExists(atPath: host.path) ? "-tool" : ""
      let runtime = products.appendingPathComponent("CoherenceRuntime\(suffix).build/module.modulemap")
      let plugin = products.appendingPathComponent("CoherenceModelMacrosPlugin-tool")
      return errors(
        in: try await CompilerRun.diagnostics(
          [
            "-typecheck", "-parse-as-library", "-swift-version", "6", "-I",
            products.appendingPathComponent("Modules\(suffix)").path, "-Xcc", "-fmodule-map-file=\(runtime.path)",
            "-load-plugin-executable", "\(plugin.path)#CoherenceModelMacrosPlugin", file.path,
          ] + options))
    }

    /// The errors in the output of the compiler. The line after an error in an expansion has the place in the source.
    private static func errors(in text: String) -> [Int: [String]] {
      let lines = text.components(separatedBy: "\n")
      var errors: [Int: [String]] = [:]
      for (index, line) in lines.enumerated() {
        if line.hasPrefix("<unknown>:0: error:") { errors[0, default: []].append(line) }
        guard let match = line.firstMatch(of: /^[^ <].*?:(\d+):\d+: error: (.*)/) else { continue }
        var place = Int(match.1) ?? 0
        if line.hasPrefix("macro expansion") {
          let origin = lines.dropFirst(index + 1).first?.firstMatch(
            of: /:(\d+):\d+: note: expanded code originates here/)
          place = origin.flatMap { Int($0.1) } ?? 0
        }
        errors[place, default: []].append(String(match.2))
      }
      return errors
    }
  }
#endif
