/// The lines of the parts of a file, for messages.
///
/// All maps are equal: the location of a part in its file is no part of a ``ModelFile``'s value.
struct SourceMap: Sendable, Hashable {
  /// The file; `nil` for a ``ModelFile`` that was made in code.
  var path: String?
  /// The lines by `Entity`, `Entity.property`, or the name of a composite type and its part.
  var lines: [String: Int] = [:]

  static func == (left: SourceMap, right: SourceMap) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}
