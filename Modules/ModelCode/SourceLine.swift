import Foundation

/// The lines of a call or a list, laid out as `swift format` lays them out with its own settings.
enum SourceLine {
  /// The greatest number of characters of a line.
  static let width = 100

  /// An argument of a call.
  enum Argument {
    case text(String)
    /// A labelled array or dictionary, such as `userInfo: [ … ]`.
    case list(label: String, [String])

    var text: String {
      switch self {
      case .text(let text): text
      case .list(let label, let elements): "\(label): [\(elements.joined(separator: ", "))]"
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
      return ["\(indentation)\(name)(\(label): ["] + filled(elements, indentation: indentation + "  ")
        + ["\(indentation)])"]
    }
    let inner = indentation + "  "
    var lines: [String] = []
    var line = inner
    for (index, argument) in arguments.enumerated() {
      let end = index == arguments.count - 1 ? ")" : ","
      let separator = line == inner ? "" : " "
      if line.count + separator.count + argument.text.count + end.count <= width {
        line += separator + argument.text + end
        continue
      }
      if line != inner { lines.append(line) }
      line = inner + argument.text + end
      if line.count > width, case .list(let label, let elements) = argument {
        lines += ["\(inner)\(label): ["] + filled(elements, indentation: inner + "  ")
        line = "\(inner)]\(end)"
      }
    }
    return ["\(indentation)\(name)("] + lines + [line]
  }

  /// Returns the lines of an array as a statement of its own.
  static func array(_ elements: [String], indentation: String) -> [String] {
    let whole = "\(indentation)[\(elements.joined(separator: ", "))]"
    if whole.count <= width { return [whole] }
    return ["\(indentation)["] + filled(elements, indentation: indentation + "  ") + ["\(indentation)]"]
  }

  /// The elements of a list, each with a comma, as many on each line as fit.
  private static func filled(_ elements: [String], indentation: String) -> [String] {
    var lines: [String] = []
    var line = indentation
    for element in elements {
      let separator = line == indentation ? "" : " "
      if line.count + separator.count + element.count + 1 <= width {
        line += separator + element + ","
        continue
      }
      if line != indentation { lines.append(line) }
      line = indentation + element + ","
      if line.count > width, let nested = nested(element, indentation: indentation) {
        lines += nested.dropLast()
        line = nested[nested.count - 1]
      }
    }
    return lines + [line]
  }

  /// The lines of a list inside of a list, such as `"Local": [ … ]`; `nil` for any other element.
  private static func nested(_ element: String, indentation: String) -> [String]? {
    guard element.hasSuffix("]"), let start = element.range(of: ": [") else { return nil }
    let elements = element[start.upperBound...].dropLast().components(separatedBy: ", ")
    return [indentation + element[..<start.upperBound]] + filled(elements, indentation: indentation + "  ")
      + [indentation + "],"]
  }
}
