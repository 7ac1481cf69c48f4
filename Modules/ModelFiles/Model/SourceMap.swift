/// The location of a file and its parts, and facts of the other versions of its package.
///
/// All maps are equal: the location is no part of a ``ModelFile``'s value.
struct SourceMap: Sendable, Hashable {
  /// The file; `nil` for a ``ModelFile`` made in code.
  var path: String?
  /// The lines by `Entity`, `Entity.property`, or the name of a composite type and its part.
  var lines: [String: Int] = [:]
  /// Former names in other versions of the package, by `Entity` and `Entity.property`.
  var formerNames: [String: [String]] = [:]
  /// Warnings about renaming identifiers that no other version of the package has.
  var unknownRenamings: [String] = []

  static func == (left: SourceMap, right: SourceMap) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}
