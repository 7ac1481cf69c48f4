import CoherenceModelFiles

/// The arguments and the layout that attributes and relationships share.
enum CodeArguments {
  /// The user info of the application, in the order of the keys; no argument without entries.
  static func userInfo(_ userInfo: [String: String]) -> [SourceLine.Argument] {
    let own = FileSetting.withoutSettings(userInfo)
    if own.isEmpty { return [] }
    let elements = own.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return [
      .list(label: "userInfo", elements.map { "\(SwiftName.literal($0.key)): \(SwiftName.literal($0.value))" })
    ]
  }

  /// A member of a class with its marker, which stands on lines of its own if the line would be too long.
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
