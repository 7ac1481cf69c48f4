#if os(Linux)  // Elsewhere the compiler needs the flags of an SDK.
  import Foundation
  import Testing
  import TestSupport

  /// Mistakes with objects and contexts that the compiler finds. A comment above a line has the beginning of its error.
  @Suite("Isolation mistakes")
  struct IsolationMistakesTests {
    private static let mistakes = """
      import CoherenceCore
      import CoherenceStrategies

      func result(_ context: ManagedObjectContext, _ id: ManagedObjectID) async throws {
        // error: conformance of 'ManagedObject' to 'Sendable' is unavailable
        _ = try await context.perform { context in context.object(with: id) }
      }

      func task(_ container: any PersistentContainer) async throws {
        // error: conformance of 'ManagedObject' to 'Sendable' is unavailable
        _ = try await container.performBackgroundTask { try $0.fetch(FetchRequest(ManagedObject.self)) }
      }

      func capture(_ context: ManagedObjectContext, _ object: ManagedObject) async throws {
        // error: capture of 'object' with non-Sendable type 'ManagedObject'
        try await context.perform { context in context.delete(object) }
      }

      struct Card: Sendable {
        // error: stored property 'object' of 'Sendable'-conforming struct 'Card' has non-Sendable type
        let object: ManagedObject
      }

      func hasEdits(_ container: any PersistentContainer) -> Bool {
        // error: main actor-isolated property 'mainContext' can not be referenced
        container.mainContext.hasChanges
      }

      """

    private static let correct = """
      import CoherenceCore
      import CoherenceStrategies

      func title(_ context: ManagedObjectContext, _ id: ManagedObjectID) async throws -> String {
        try await context.perform { context in try context.existingObject(with: id).value(for: "title") }
      }

      @MainActor func hasEdits(_ container: any PersistentContainer) -> Bool { container.mainContext.hasChanges }

      """

    @Test func `the compiler refuses objects that leave a context, and the main context off the main actor`()
      async throws
    {
      let errors = try await Self.errors(of: Self.mistakes)
      let lines = Self.mistakes.components(separatedBy: "\n")
      for (index, line) in lines.enumerated() {
        let expected = index == 0 ? nil : lines[index - 1].firstMatch(of: /\/\/ error: (.*)/)?.1
        let found = errors[index + 1] ?? []
        let isAsExpected = expected.map { text in found.contains { $0.hasPrefix(text) } } ?? found.isEmpty
        #expect(isAsExpected, "\(line): \(found)")
      }
      #expect(errors[0] == nil && errors.count == 5, "\(errors)")
    }

    @Test func `the compiler accepts values that leave a context and the main context on the main actor`() async throws
    {
      #expect(try await Self.errors(of: Self.correct).isEmpty)
    }

    /// The errors of the compiler for a source, by line.
    private static func errors(of source: String) async throws -> [Int: [String]] {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift")
      try source.write(to: file, atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(at: file) }
      let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      // A build of the tests has the modules for the host, and perhaps for the target besides.
      let host = products.appendingPathComponent("Modules-tool")
      let suffix = FileManager.default.fileExists(atPath: host.path) ? "-tool" : ""
      let runtime = products.appendingPathComponent("CoherenceRuntime\(suffix).build/module.modulemap")
      let text = try await CompilerRun.diagnostics([
        "-typecheck", "-swift-version", "6", "-I", products.appendingPathComponent("Modules\(suffix)").path,
        "-Xcc", "-fmodule-map-file=\(runtime.path)", file.path,
      ])
      var errors: [Int: [String]] = [:]
      for line in text.components(separatedBy: "\n") {
        if let match = line.firstMatch(of: /^[^ ].*?:(\d+):\d+: error: (.*)/) {
          errors[Int(match.1) ?? 0, default: []].append(String(match.2))
        } else if line.contains("error:"), line.hasPrefix("<unknown>") {
          errors[0, default: []].append(line)
        }
      }
      return errors
    }
  }
#endif
