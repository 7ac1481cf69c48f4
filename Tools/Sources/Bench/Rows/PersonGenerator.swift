import Foundation

/// Makes the rows of a run: the same for the same count, on every machine.
struct PersonGenerator {
  private var random = SplitMix64(seed: 0xC0_4E_2E)
  private static let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
  private static let hexadecimal = Array("0123456789abcdef".utf8)

  static func people(_ count: Int) -> [Person] {
    var generator = PersonGenerator()
    return (1...count).map { generator.person(id: Int64($0)) }
  }

  private mutating func person(id: Int64) -> Person {
    Person(
      id: id, uuid: uuid(), firstName: word(5...12), middleName: word(5...10), lastName: word(5...25),
      email: word(5...13) + "@example.org", age: Int.random(in: 0...99, using: &random),
      score: Double(Int.random(in: 0...100_000, using: &random)) / 128, created: date(),
      isActive: Bool.random(using: &random), notes: id % 3 == 0 ? nil : word(35...35))
  }

  private mutating func word(_ length: ClosedRange<Int>) -> String {
    let bytes = (0..<Int.random(in: length, using: &random)).map { _ in
      Self.letters[Int(random.next() % 26)]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private mutating func uuid() -> String {
    let bytes = (0..<36).map { place in
      [8, 13, 18, 23].contains(place) ? UInt8(ascii: "-") : Self.hexadecimal[Int(random.next() & 15)]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private mutating func date() -> Date {
    Date(microseconds: Int64.random(in: 0...1_700_000_000_000_000, using: &random))
  }
}
