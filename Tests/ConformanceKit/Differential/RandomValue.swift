import CoherenceCore
import Foundation

/// Random values of attributes: most of them from small ranges, so that values are equal often, and some from the
/// limits of their types.
enum RandomValue {
  /// Returns a valid value of a type.
  static func value(of type: AttributeType, _ random: inout SplitMix64) -> AttributeValue {
    switch type {
    case .int16: integer(Int64(Int16.min), Int64(Int16.max), &random)
    case .int32: integer(Int64(Int32.min), Int64(Int32.max), &random)
    case .int64: integer(.min, .max, &random)
    case .bool: .bool(random.chance(50))
    case .float: float(&random)
    case .double: double(&random)
    case .decimal: decimal(&random)
    case .string: .string(text(&random))
    case .url: .string(random.pick(urls))
    case .codable: .string(random.pick(documents))
    case .data, .transformable: .data(data(&random))
    case .weakReference: .string("x-coherence://store/Entity/p\(random.pick([1, 2, 3]))")
    case .date: date(&random)
    case .uuid: .uuid(uuid(&random))
    case .enumeration(let raw, let cases):
      cases.map { random.pick($0.sorted { $0.order(to: $1) < 0 }) } ?? value(of: raw, &random)
    }
  }

  /// Returns a value of the wrong kind or out of range for a type.
  static func refused(by type: AttributeType, _ random: inout SplitMix64) -> AttributeValue {
    let candidates: [AttributeValue] = [
      .bool(true), .int(.max), .int(40_000), .double(.nan), .double(1e300), .double(0.5), .string("a\u{0}b"),
      .string("text"), .data(Data([7])), .date(Timestamp(microseconds: 1)), .uuid(UUID.attributeDefault),
      .decimal(.nan), .decimal(3),
    ]
    return random.pick(candidates.filter { (try? type.checked($0)) == nil })
  }

  static let texts = [
    "", "a", "A", "b", "ab", "aB", "abc", "ba", " ", "a b", "ä", "a\u{308}", "Ä", "ß", "ss", "ẞ", "é", "É", "İ", "i",
    "ı",
    "%", "_", "a%", "a_", "'", "\"", "\\", "*", "?", "a*b", "a?c", "🎵", "é🎵", "10", "9", "null",
  ]

  static func text(_ random: inout SplitMix64) -> String {
    if random.chance(3) { return String(repeating: random.pick(texts), count: 300) }
    return random.pick(texts)
  }

  private static let urls = ["https://example.org/", "https://example.org/a?b=c#d", "about:blank", "file:///tmp/a%20b"]
  private static let documents = ["{}", "[]", "{\"a\":1}", "\"text\"", "null"]

  private static func integer(_ lowest: Int64, _ highest: Int64, _ random: inout SplitMix64) -> AttributeValue {
    if random.chance(12) { return .int(random.pick([lowest, lowest + 1, highest - 1, highest])) }
    return .int(Int64(random.number(-5...20)))
  }

  private static func float(_ random: inout SplitMix64) -> AttributeValue {
    let edges: [Float] = [.infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1, -0.0]
    if random.chance(20) { return random.pick(edges).attributeValue }
    return (Float(random.number(-20...80)) / 4).attributeValue
  }

  private static func double(_ random: inout SplitMix64) -> AttributeValue {
    let edges: [Double] = [
      .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1, -0.0, 9_007_199_254_740_992,
    ]
    if random.chance(20) { return .double(random.pick(edges)) }
    return .double(Double(random.number(-20...80)) / 4)
  }

  private static let decimals = [
    "0.1", "-0.1", "0.10", "12345678901234567890123456789012345678", "-12345678901234567890123456789012345678",
    "0.00000000000000000000000000000000000001", "99999999999999999999", "9", "10", "1e3",
  ].map { Decimal(string: $0) ?? 0 }

  private static func decimal(_ random: inout SplitMix64) -> AttributeValue {
    if random.chance(25) { return .decimal(random.pick(decimals)) }
    return .decimal(Decimal(random.number(-20...80)) / 4)
  }

  private static func data(_ random: inout SplitMix64) -> Data {
    if random.chance(5) { return Data(repeating: UInt8(random.number(0...255)), count: 2000) }
    return Data((0..<random.number(0...3)).map { _ in UInt8(random.pick([0, 1, 127, 128, 255])) })
  }

  private static func date(_ random: inout SplitMix64) -> AttributeValue {
    let edges: [Int64] = [
      -1, 0, 1, -62_135_596_800_000_000, 253_402_300_799_999_999, 951_782_400_000_001, 1_700_000_000_123_456,
    ]
    if random.chance(25) { return .date(Timestamp(microseconds: random.pick(edges))) }
    return .date(Timestamp(microseconds: Int64(random.number(-5...20)) * 86_400_000_000))
  }

  private static func uuid(_ random: inout SplitMix64) -> UUID {
    let byte = UInt8(random.pick([0, 1, 2, 127, 128, 255]))
    return UUID(uuid: (byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(random.number(0...2))))
  }
}
