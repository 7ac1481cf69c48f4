import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// Conditions that ignore case and diacritics, evaluated by the server.
@Suite("Folding by the server", .needsServer) struct FoldingTests {
  private static let all: [StringOptions] = [
    .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
  ]

  @Test func `the server finds what Core's folding finds, for every letter that folding changes`() throws {
    let schema = try TemporarySchema()
    let store = try schema.open(PeopleModel.make())
    var texts = [
      "", "straße", "STRASSE", "Ångström", "A\u{30A}ngstro\u{308}m", "café", "CAFE", "CAFE\u{301}", "a%_\\b", "A*?B",
    ]
    for scalar in PostgreSQLFolding.changing.joined().compactMap({ Unicode.Scalar($0) }) {
      let text = String(scalar)
      let isChanged = Self.all.contains { text.folded($0).unicodeScalars.first != scalar }
      if isChanged || scalar.value % 97 == 0 { texts += ["x\(text)e", "\(text)\u{301}K"] }
    }
    let rows = try texts.map { try store.row("Person", ["name": .string($0)]) }
    try store.save(.insert(store.entity("Person"), rows))
    let constants = ["", "e", "K", "ß", "İ", "å", "xe", "ς", "я", "%_"]
    for options in Self.all {
      for constant in constants {
        let needle = constant.folded(options)
        let isProven = !options.contains(.diacriticInsensitive) || needle.utf8.allSatisfy { $0 < 0x80 }
        for comparison in [ComparisonOperator.equal, .notEqual, .beginsWith, .endsWith, .contains] {
          let query = StoreQuery(
            entity: store.entity("Person"),
            predicate: .comparison(.path(PropertyPath("name")), comparison, .value(.string(constant)), options))
          #expect(try store.reading { try $0.fetch(query) }.isPredicateExact == isProven)
          guard isProven else { continue }
          let found = Set(try store.names(query))
          let expected = Set(texts.filter { Self.holds($0.folded(options), comparison, needle) })
          #expect(found == expected, "\(constant) \(comparison) \(options)")
        }
      }
    }
  }

  private static func holds(_ text: String, _ comparison: ComparisonOperator, _ needle: String) -> Bool {
    let (text, needle) = (Array(text.utf8), Array(needle.utf8))
    return switch comparison {
    case .equal: text == needle
    case .notEqual: text != needle
    case .beginsWith: text.starts(with: needle)
    case .endsWith: text.reversed().starts(with: needle.reversed())
    default:
      needle.isEmpty || text.indices.contains { text[$0...].starts(with: needle) }
    }
  }

  @Test func `letters outside of the folded ranges fold to themselves, or to letters outside of ASCII`() {
    let ranges = PostgreSQLFolding.changing
    for value in UInt32(0x80)...0x10_FFFF where !ranges.contains(where: { $0.contains(value) }) {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = String(scalar)
      #expect(text.folded(.caseInsensitive).unicodeScalars.elementsEqual([scalar]))
      let bare = text.folded([.caseInsensitive, .diacriticInsensitive])
      #expect(!bare.isEmpty && bare.utf8.allSatisfy { $0 >= 0x80 })
    }
  }

  @Test func `letters of ASCII keep their form beside marks that folding keeps`() {
    let marks = (UInt32(0x300)...0x1_FFFF).compactMap(Unicode.Scalar.init)
      .filter {
        $0.properties.canonicalCombiningClass != .notReordered || $0.properties.generalCategory == .spacingMark
      }
      .filter { !String($0).folded(.diacriticInsensitive).isEmpty }
    #expect(marks.count > 100)
    for mark in marks {
      for letter in UInt8(0x21)...0x7E {
        let text = String(Unicode.Scalar(letter)) + String(mark)
        #expect(text.folded(.diacriticInsensitive).utf8.first == letter)
      }
    }
  }

  @Test func `patterns and lists that ignore case are evaluated by the server`() throws {
    let schema = try TemporarySchema()
    let store = try schema.open(PeopleModel.make())
    let texts = ["Straße 1", "STRASSE 1", "a%_\\b", "A*?B", "axb", "Žižka", "éa", "e\u{301}a"]
    let rows = try texts.map { try store.row("Person", ["name": .string($0)]) }
    try store.save(.insert(store.entity("Person"), rows))
    func found(_ predicate: FetchPredicate, isExact: Bool = true) throws -> Set<String> {
      let query = StoreQuery(entity: store.entity("Person"), predicate: predicate)
      #expect(try store.reading { try $0.fetch(query) }.isPredicateExact == isExact)
      return Set(try store.names(query))
    }
    func like(_ pattern: String, _ options: StringOptions) -> FetchPredicate {
      .comparison(.path(PropertyPath("name")), .like, .value(.string(pattern)), options)
    }
    #expect(try found(like("stra?e*", .caseInsensitive)) == ["Straße 1"])
    #expect(try found(like("A%_\\\\B", .caseInsensitive)) == ["a%_\\b"])
    #expect(try found(like("a\\*\\?b", .caseInsensitive)) == ["A*?B"])
    #expect(try found(like("a??b", [])) == [])
    #expect(try found(like("A??B", [])) == ["A*?B"])
    #expect(try found(like("ziz*", [.caseInsensitive, .diacriticInsensitive])) == ["Žižka"])
    _ = try found(like("?a", .diacriticInsensitive), isExact: false)
    let path = FetchExpression.path(PropertyPath("name"))
    #expect(
      try found(.membership(path, in: [.string("straße 1"), .string("AXB"), .null], .caseInsensitive))
        == ["Straße 1", "axb"])
    #expect(
      try found(.membership(path, in: [.string("EA")], [.caseInsensitive, .diacriticInsensitive]))
        == ["éa", "e\u{301}a"])
  }
}

extension PersistentStore {
  fileprivate func names(_ query: StoreQuery) throws -> [String] {
    try reading { try $0.all(query) }.compactMap { row in
      guard let slot = row.entity.attribute(named: "name")?.slot, case .string(let text) = row[slot] else { return nil }
      return text
    }
  }
}
