/// The placeholders of replaced values in a recording. Equal values have equal placeholders.
struct HTTPPlaceholders: Sendable {
  private var numbers: [String: Int] = [:]

  /// Returns the placeholder of a value, and numbers the value on its first occurrence.
  mutating func placeholder(for value: String) -> String {
    // A placeholder comes from a replay and not from a service, and must not change.
    if Self.isPlaceholder(value) { return value }
    let number = numbers[value] ?? numbers.count + 1
    numbers[value] = number
    return "hidden-\(number)"
  }

  /// Whether a recorded text is a placeholder: `hidden`, alone or with a number.
  static func isPlaceholder(_ text: some StringProtocol) -> Bool {
    guard text.hasPrefix("hidden") else { return false }
    let number = text.dropFirst("hidden".count)
    return number.isEmpty || (number.first == "-" && number.count > 1 && number.dropFirst().allSatisfy(\.isNumber))
  }
}
