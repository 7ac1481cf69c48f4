import Testing

@testable import CoherenceCore

/// Missing parts of composites, parts within other composites, and parts with defaults.
@Suite("Parts of composites")
struct CompositeReaderTests {
  private struct Pair: CompositeValue, Equatable {
    var left: Int
    var right: Int

    init(_ left: Int, _ right: Int) { (self.left, self.right) = (left, right) }
    static var compositeParts: [Attribute] {
      Attribute.parts("left", Int.self) + Attribute.parts("right", Int.self)
    }
    init(reading parts: inout CompositeReader) {
      left = parts.read()
      right = parts.read()
    }
    func write(to parts: inout CompositeWriter) {
      parts.write(left)
      parts.write(right)
    }
  }

  /// A composite with an optional composite between two optional parts.
  private struct Holder: CompositeValue, Equatable {
    var first: String?
    var pair: Pair?
    var last: String?

    init(_ first: String?, _ pair: Pair?, _ last: String?) { (self.first, self.pair, self.last) = (first, pair, last) }
    static var compositeParts: [Attribute] {
      Attribute.parts("first", String?.self) + Attribute.parts("pair", Pair?.self)
        + Attribute.parts("last", String?.self)
    }
    init(reading parts: inout CompositeReader) {
      first = parts.read()
      pair = parts.read()
      last = parts.read()
    }
    func write(to parts: inout CompositeWriter) {
      parts.write(first)
      parts.write(pair)
      parts.write(last)
    }
  }

  private func holder(_ values: AttributeValue...) -> Holder? {
    var reader = CompositeReader(values, defaults: [])
    return Holder?(reading: &reader)
  }

  @Test func `a composite with one part is present, whether its own composite is missing or not`() {
    #expect(holder(.string("a"), .null, .null, .null) == Holder("a", nil, nil))
    #expect(holder(.null, .null, .null, .string("z")) == Holder(nil, nil, "z"))
    #expect(holder(.null, .int(1), .null, .null) == Holder(nil, Pair(1, 0), nil))
    #expect(holder(.string("a"), .null, .int(2), .string("z")) == Holder("a", Pair(0, 2), "z"))
    #expect(holder(.null, .null, .null, .null) == nil)
    #expect(holder() == nil)
  }

  @Test func `a missing composite is written as missing parts, and reads back as missing`() {
    for value in [Holder("a", Pair(1, 2), nil), Holder(nil, Pair(0, 0), "z"), Holder("a", nil, "z"), nil] {
      var writer = CompositeWriter()
      value.write(to: &writer)
      #expect(writer.values.count == 4)
      var reader = CompositeReader(writer.values, defaults: [])
      let back = Holder?(reading: &reader)
      #expect(back == value)
    }
  }

  @Test func `a missing part reads as the declared default, then as the given one, then as that of its type`() {
    var reader = CompositeReader([.null, .int(7), .string("x")], defaults: [.int(5), .int(6)])
    let declared = (0..<4).map { _ in reader.read(Int.self) }
    // The third value has another type, and reads as missing.
    #expect(declared == [5, 7, 0, 0])
    var other = CompositeReader([.null, .null, .int(3)], defaults: [.int(5)])
    let given = (0..<4).map { _ in other.read(Int.self, default: 9) }
    #expect(given == [5, 9, 3, 9])
  }

  @Test(
    arguments: [
      ([.null, .null], [.null, .null], 8, 9), ([.null, .null], [], 8, 9), ([.null, .null], [.int(1), .null], 1, 0),
      ([.null, .null], [.null, .int(2)], 0, 2), ([.null, .int(3)], [.int(1), .int(2)], 1, 3),
      ([.int(3), .null], [], 3, 0),
    ] as [([AttributeValue], [AttributeValue], Int, Int)])
  func `a missing composite has the declared defaults of its parts, or is the given one`(
    values: [AttributeValue], defaults: [AttributeValue], left: Int, right: Int
  ) {
    var reader = CompositeReader(values + [.int(4)], defaults: defaults)
    let pair = reader.read(Pair.self, default: Pair(8, 9))
    // The next part follows the composite.
    let next = reader.read(Int.self)
    #expect(pair == Pair(left, right) && next == 4)
  }

  @Test func `a composite has the defaults of a value, and its parts have former names with those of the composite`() {
    let plain = CompositeAttribute("pair", of: Pair.self)
    #expect(plain.parts.map(\.name) == ["left", "right"] && plain.parts.allSatisfy(\.defaultValue.isNull))
    let full = CompositeAttribute("pair", of: Pair.self, default: Pair(1, 2), formerNames: ["couple", "two"])
    #expect(full.parts.map(\.defaultValue) == [.int(1), .int(2)])
    #expect(full.parts.map(\.formerNames) == [["couple.left", "two.left"], ["couple.right", "two.right"]])
    #expect(full.parts.allSatisfy { !$0.isOptional })
    let optional = CompositeAttribute("pair", of: Pair?.self).parts
    #expect(optional.allSatisfy { $0.isOptional })
    let nested = CompositeAttribute("holder", of: Holder.self).parts
    #expect(nested.map(\.name) == ["first", "pair.left", "pair.right", "last"])
    #expect(nested.allSatisfy { $0.isOptional })
  }
}
