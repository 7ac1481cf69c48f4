import CoherenceCore

/// A statement about every store, with the program that verifies the statement.
public struct ConformanceCase: Sendable, Identifiable, CustomStringConvertible {
  /// The sentence, unique in the suite.
  public let name: String
  /// The subject or the guarantee of the case.
  public internal(set) var area = ""
  /// The model with which the store is opened before the case runs.
  let model: ManagedObjectModel
  let run: @Sendable (ConformanceStack) async throws -> Void

  /// - Parameters:
  ///   - name: A sentence.
  ///   - model: The model with which the store is opened before the case runs.
  ///   - run: The program of the case. The case passes if the program returns, and fails if it throws an error.
  init(
    _ name: String, model: ManagedObjectModel = Music.model,
    run: @escaping @Sendable (ConformanceStack) async throws -> Void
  ) {
    self.name = name
    self.model = model
    self.run = run
  }

  public var id: String { name }
  public var description: String { "\(area): \(name)" }
}

/// The cases of one subject or one guarantee.
public struct ConformanceSubject: Sendable {
  public let name: String
  public let cases: [ConformanceCase]

  init(_ name: String, @CasesBuilder cases: () -> [ConformanceCase]) {
    self.name = name
    self.cases = cases().map { conformanceCase in
      var result = conformanceCase
      result.area = name
      return result
    }
  }
}

extension ConformanceSubject {
  /// A case on the store, and the same case on the store without its optional parts, whose work Core does instead.
  static func withAndWithoutOptionalParts(
    _ name: String, model: ManagedObjectModel = Music.model,
    _ run: @escaping @Sendable (ConformanceStack) async throws -> Void
  ) -> [Case] {
    [
      Case(name, model: model) { stack in try await run(stack) },
      Case("\(name), without the optional parts of a store", model: model) { stack in
        _ = try stack.interpose()
        try await run(stack)
      },
    ]
  }
}

@resultBuilder
enum CasesBuilder {
  static func buildExpression(_ conformanceCase: ConformanceCase) -> [ConformanceCase] { [conformanceCase] }
  static func buildExpression(_ cases: [ConformanceCase]) -> [ConformanceCase] { cases }
  static func buildBlock(_ parts: [ConformanceCase]...) -> [ConformanceCase] { parts.flatMap { $0 } }
}

/// The short name that the files of cases use.
typealias Case = ConformanceCase
