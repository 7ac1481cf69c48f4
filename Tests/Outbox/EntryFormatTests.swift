import CoherenceCore
import Foundation
import TestRandom
import Testing

@testable import CoherenceOutbox

/// The binary format of the values of entries.
@Suite("The format of entries")
struct EntryFormatTests {
  private static let values: [OutboxValue] = [
    .value(.null), .value(.bool(true)), .value(.bool(false)), .value(.int(0)), .value(.int(-1)), .value(.int(.max)),
    .value(.int(.min)), .value(.double(-0.5)), .value(.double(.greatestFiniteMagnitude)), .value(.string("")),
    .value(.string("naïve 👩‍👩‍👧 \u{65}\u{301}")), .value(.data(Data())), .value(.data(Data([0, 255, 128]))),
    .value(.date(Timestamp(microseconds: -1))), .value(.uuid(UUID())),
    .value(.decimal(Decimal(string: "12345678901234567890.123456789")!)),
    .record(OutboxRecord(rootName: "Ärger/1", key: .max)), .omitted(byteCount: 10_000_000),
  ]

  @Test func `the format preserves every value with its type`() throws {
    let fields = Self.values.enumerated().map { index, value in
      EntryFormat.Field(
        name: "property \(index)", base: index % 3 == 0 ? nil : value, value: index % 3 == 1 ? nil : value)
    }
    let (a, b) = (OutboxRecord(rootName: "A", key: 1), OutboxRecord(rootName: "B", key: -1))
    let members = [
      EntryFormat.Members(name: "m", added: [a, b, a], removed: [b], isReordered: true, isOwner: false),
      EntryFormat.Members(name: "n", added: [], removed: [], isReordered: false, isOwner: true),
    ]
    let read = try EntryReader.payload(EntryWriter.payload(fields, members))
    #expect(read.0 == fields)
    #expect(read.1 == members)
    let references = [
      EntryFormat.Reference(role: .new, record: a), EntryFormat.Reference(role: .base, record: b),
      EntryFormat.Reference(role: .base, record: a),
    ]
    #expect(try EntryReader.references(EntryWriter.references(references)) == references)
    #expect(try EntryReader.identity(EntryWriter.identity(fields)) == fields)
  }

  @Test func `entries of earlier releases are read, and entries of this release are read by them`() throws {
    let record = OutboxRecord(rootName: "A", key: -1)
    let fields = [
      EntryFormat.Field(name: "t", base: .value(.string("old")), value: .value(.int(300))),
      EntryFormat.Field(name: "r", base: nil, value: .record(record)),
    ]
    let member = OutboxRecord(rootName: "A", key: 1)
    let members = [EntryFormat.Members(name: "m", added: [member], removed: [], isReordered: true, isOwner: false)]
    let bytes: [UInt8] = [
      // The version, and two fields, each with its name, its flags and its values.
      1, 2, 1, 0x74, 3, 5, 3, 0x6F, 0x6C, 0x64, 3, 0xD8, 0x04, 1, 0x72, 2, 10, 0, 1, 0x41, 1,
      // A list of members. The name of the root entity stands at its first use alone.
      1, 1, 0x6D, 1, 1, 0, 2, 0,
    ]
    #expect([UInt8](EntryWriter.payload(fields, members)) == bytes)
    let read = try EntryReader.payload(Data(bytes))
    #expect(read.0 == fields && read.1 == members)
    let reference = [EntryFormat.Reference(role: .new, record: member)]
    #expect([UInt8](EntryWriter.references(reference)) == [1, 1, 1, 0, 1, 0x41, 2])
    #expect([UInt8](EntryWriter.identity([])) == [1, 0])
  }

  @Test func `texts of different bytes that Unicode treats as equal are different values`() throws {
    let composed = EntryFormat.Field(name: "t", base: .value(.string("\u{E9}")), value: .value(.string("e\u{301}")))
    let read = try EntryReader.payload(EntryWriter.payload([composed], [])).0
    #expect(read == [composed] && read[0].base != read[0].value)
  }

  @Test func `data cut off after any byte is refused`() {
    let whole = EntryWriter.payload(
      [EntryFormat.Field(name: "t", base: .value(.string("old")), value: .value(.int(300)))], [])
    for count in 0..<whole.count {
      #expect { try EntryReader.payload(whole.prefix(count)) } throws: { ErrorCode.storeCorrupt ~= $0 }
    }
    #expect { try EntryReader.payload(whole + [0]) } throws: { ErrorCode.storeCorrupt ~= $0 }
  }

  @Test func `data of a later version is refused`() {
    var data = EntryWriter.payload([], [])
    data[data.startIndex] = EntryFormat.version + 1
    #expect { try EntryReader.payload(data) } throws: { ErrorCode.storeCorrupt ~= $0 }
  }

  @Test func `a count greater than the rest of the data is refused`() {
    let huge = Data([EntryFormat.version, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
    #expect { try EntryReader.payload(huge) } throws: { ErrorCode.storeCorrupt ~= $0 }
    #expect { try EntryReader.references(huge) } throws: { ErrorCode.storeCorrupt ~= $0 }
    let endless = Data([EntryFormat.version] + Array(repeating: 0xFF, count: 20))
    #expect { try EntryReader.references(endless) } throws: { ErrorCode.storeCorrupt ~= $0 }
  }

  @Test(arguments: SeededRandom.seeds)
  func `damaged data is decoded or refused, and never ends the process`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let fields = Self.values.map { EntryFormat.Field(name: "p", base: $0, value: $0) }
    let whole = [UInt8](EntryWriter.payload(fields, []))
    var refused = 0
    for _ in 0..<2000 {
      var bytes = whole
      for _ in 0...random.next(below: 4) { bytes[random.next(below: bytes.count)] = UInt8(random.next(below: 256)) }
      do { _ = try EntryReader.payload(Data(bytes)) } catch ErrorCode.storeCorrupt { refused += 1 } catch {
        Issue.record("Seed \(seed): \(error)")
      }
    }
    #expect(refused > 0, "Seed \(seed)")
  }
}
