/// What stands in a recording where a value was replaced: equal for equal values.
struct HTTPPlaceholders: Sendable {
  private var numbers: [String: Int] = [:]

  mutating func placeholder(for value: String) -> String {
    // A value that a replay gave is none of a service's secrets, and has to stay the same.
    if Self.isPlaceholder(value) { return value }
    let number = numbers[value] ?? numbers.count + 1
    numbers[value] = number
    return "hidden-\(number)"
  }

  /// Whether a recorded text stands for any value.
  static func isPlaceholder(_ text: some StringProtocol) -> Bool {
    guard text.hasPrefix("hidden") else { return false }
    let number = text.dropFirst("hidden".count)
    return number.isEmpty || (number.first == "-" && number.count > 1 && number.dropFirst().allSatisfy(\.isNumber))
  }
}
