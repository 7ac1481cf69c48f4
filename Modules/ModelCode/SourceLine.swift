/// The lines of a call or a list, laid out as `swift format` lays them out with its default settings.
enum SourceLine {
  /// The greatest number of characters of a line.
  static let width = 100

  /// An argument of a call, or an element of a list.
  indirect enum Argument {
    case text(String)
    /// An array or a dictionary with a label or a key: `userInfo: [ … ]`, `"Local": [ … ]`.
    case list(label: String, [Argument])

    var text: String {
      switch self {
      case .text(let text): text
      case .list(let label, let elements): "\(label): [\(elements.map(\.text).joined(separator: ", "))]"
      }
    }
  }

  /// Returns the lines of a call: one line if it fits, otherwise the arguments below the name, as many on each line as
  /// fit.
  ///
  /// - Parameter room: The number of characters that must fit behind the call if the call stands on one line.
  static func call(_ name: String, _ arguments: [Argument], indentation: String, room: Int = 0) -> [String] {
    let whole = "\(indentation)\(name)(\(arguments.map(\.text).joined(separator: ", ")))"
    if whole.count + room <= width { return [whole] }
    if arguments.count == 1, case .list(let label, let elements) = arguments[0] {
      return ["\(indentation)\(name)(\(label): ["]
        + filled(elements.map(Part.init(element:)), indentation: indentation + "  ")
        + ["\(indentation)])"]
    }
    let parts = arguments.enumerated().map { index, argument in
      Part(argument, end: index == arguments.count - 1 ? ")" : ",")
    }
    return ["\(indentation)\(name)("] + filled(parts, indentation: indentation + "  ")
  }

  /// Returns the lines of an array as a statement of its own.
  static func array(_ elements: [String], indentation: String) -> [String] {
    let whole = "\(indentation)[\(elements.joined(separator: ", "))]"
    if whole.count <= width { return [whole] }
    return ["\(indentation)["]
      + filled(elements.map { Part(element: .text($0)) }, indentation: indentation + "  ") + ["\(indentation)]"]
  }

  /// An argument of a call or an element of a list, with the character behind it.
  private struct Part {
    let argument: Argument
    let end: String

    init(_ argument: Argument, end: String) {
      self.argument = argument
      self.end = end
    }

    /// Every element of a list that stands on several lines has a comma.
    init(element: Argument) { self.init(element, end: ",") }
  }

  /// The lines of the parts of a call or a list, as many parts on each line as fit. A list has lines of its own if it is
  /// too long for one line.
  private static func filled(_ parts: [Part], indentation: String) -> [String] {
    var lines: [String] = []
    var line = indentation
    for part in parts {
      let separator = line == indentation ? "" : " "
      let text = part.argument.text + part.end
      if line.count + separator.count + text.count <= width {
        line += separator + text
        continue
      }
      if line != indentation { lines.append(line) }
      line = indentation + text
      if line.count > width, case .list(let label, let elements) = part.argument {
        lines.append("\(indentation)\(label): [")
        lines += filled(elements.map(Part.init(element:)), indentation: indentation + "  ")
        line = "\(indentation)]\(part.end)"
      }
    }
    return lines + [line]
  }
}
