import CoherenceModelFiles

/// The arguments and the layout that attributes and relationships share.
enum CodeArguments {
  /// The argument of the former names; none without names.
  static func formerNames(_ names: [String]) -> [SourceLine.Argument] {
    names.isEmpty ? [] : [.list(label: "formerNames", names.map { .text(SwiftName.literal($0)) })]
  }

  /// The argument of the application's user info, in the order of the keys; none without entries.
  static func userInfo(_ userInfo: [String: String]) -> [SourceLine.Argument] {
    let own = FileSetting.withoutSettings(userInfo)
    if own.isEmpty { return [] }
    let elements = own.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return [
      .list(
        label: "userInfo", elements.map { .text("\(SwiftName.literal($0.key)): \(SwiftName.literal($0.value))") })
    ]
  }

  /// The lines of a member of a class. The marker, such as `@Attribute` with its arguments, stands on lines of its own if
  /// the line would be too long.
  static func lines(marker: (name: String, arguments: [SourceLine.Argument])?, declaration: String) -> [String] {
    guard let marker else { return ["  \(declaration)"] }
    if marker.arguments.isEmpty {
      let line = "  \(marker.name) \(declaration)"
      return line.count <= SourceLine.width ? [line] : ["  \(marker.name)", "  \(declaration)"]
    }
    let lines = SourceLine.call(marker.name, marker.arguments, indentation: "  ")
    if lines.count == 1, lines[0].count + 1 + declaration.count <= SourceLine.width {
      return ["\(lines[0]) \(declaration)"]
    }
    return lines + ["  \(declaration)"]
  }
}
