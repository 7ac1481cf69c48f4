import Foundation

/// The lines of a call or a list, laid out as `swift format` lays them out with its default settings.
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
    let parts = arguments.enumerated().map { index, argument in
      Part(argument, end: index == arguments.count - 1 ? ")" : ",")
    }
    return ["\(indentation)\(name)("] + filled(parts, indentation: indentation + "  ")
  }

  /// Returns the lines of an array as a statement of its own.
  static func array(_ elements: [String], indentation: String) -> [String] {
    let whole = "\(indentation)[\(elements.joined(separator: ", "))]"
    if whole.count <= width { return [whole] }
    return ["\(indentation)["] + filled(elements, indentation: indentation + "  ") + ["\(indentation)]"]
  }

  /// A part of a call or a list, with the character behind it. A part that is a list has lines of its own if it is too
  /// long for one line.
  private struct Part {
    let text: String
    let end: String
    /// The beginning of the list, up to its bracket, and its elements; `nil` for a part that is no list.
    let list: (head: String, elements: [String])?

    init(_ argument: Argument, end: String) {
      text = argument.text
      self.end = end
      if case .list(let label, let elements) = argument { list = ("\(label): [", elements) } else { list = nil }
    }

    /// An element of a list, which may be a list too, such as `"Local": [ … ]`.
    init(element: String) {
      text = element
      end = ","
      guard element.hasSuffix("]"), let start = element.range(of: ": [") else {
        list = nil
        return
      }
      list = (
        String(element[..<start.upperBound]),
        element[start.upperBound...].dropLast().components(separatedBy: ", ")
      )
    }
  }

  /// The elements of a list, each with a comma, as many on each line as fit.
  private static func filled(_ elements: [String], indentation: String) -> [String] {
    filled(elements.map { Part(element: $0) }, indentation: indentation)
  }

  /// The lines of the parts of a call or a list, as many parts on each line as fit.
  private static func filled(_ parts: [Part], indentation: String) -> [String] {
    var lines: [String] = []
    var line = indentation
    for part in parts {
      let separator = line == indentation ? "" : " "
      let text = part.text + part.end
      if line.count + separator.count + text.count <= width {
        line += separator + text
        continue
      }
      if line != indentation { lines.append(line) }
      line = indentation + text
      if line.count > width, let list = part.list {
        lines += [indentation + list.head] + filled(list.elements, indentation: indentation + "  ")
        line = "\(indentation)]\(part.end)"
      }
    }
    return lines + [line]
  }
}
