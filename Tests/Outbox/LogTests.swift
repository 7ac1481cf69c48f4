import CoherenceCore
import Foundation
import TestRandom
import TestSupport
import Testing

@testable import CoherenceOutbox

/// The log that saves write, and the entries that the first reader makes from the log.
@Suite("The log of an outbox")
struct LogTests {
  private func count(_ entityName: String, in stack: OutboxStack) throws -> Int {
    try stack.save { try $0.count(for: FetchRequest<ManagedObject>(entityName: entityName)) }
  }

  @Test(arguments: Backend.available)
  func `a save of many changes adds one row, and the first reader makes an entry of each change`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.save { context in
      for number in 0..<50 { try TestItem(context: context).title = "\(number)" }
    }
    #expect(try count("CoherenceOutboxLog", in: stack) == 1)
    #expect(try count("CoherenceOutboxEntry", in: stack) == 0)
    let entries = try await stack.outbox.entries()
    #expect(Set(entries.compactMap { $0["title"]?.value }).count == 50)
    #expect(Set(entries.map(\.idempotencyKey)).count == 50)
    #expect(entries.map(\.sequence) == entries.map(\.sequence).sorted() && Set(entries.map(\.sequence)).count == 50)
    #expect(Set(entries.map(\.transaction)).count == 1)
    #expect(try count("CoherenceOutboxLog", in: stack) == 0)
    #expect(try count("CoherenceOutboxEntry", in: stack) == 50)
    #expect(try await stack.outbox.entries().map(\.id) == entries.map(\.id))
  }

  @Test(arguments: Backend.available)
  func `the first page of a long log makes the entries of the page, and the pages have each entry once`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    for number in 0..<40 { try stack.saveItem("\(number)") }
    var page = try await stack.outbox.entries(limit: 5)
    #expect(try count("CoherenceOutboxLog", in: stack) > 20)
    var titles: [OutboxValue] = []
    while let last = page.last {
      titles += page.compactMap { $0["title"]?.value }
      page = try await stack.outbox.entries(limit: 5, after: last.cursor)
    }
    #expect(titles == (0..<40).map { .value(.string("\($0)")) })
  }

  @Test(arguments: Backend.available)
  func `the number of reads of the log does not grow with the page that makes its entries`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    for number in 0..<60 { try stack.saveItem("\(number)") }
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    #expect(try await stack.outbox.entries(limit: 100).count == 60)
    #expect(operations.count(of: StackOperation(.fetch, "CoherenceOutboxLog")) <= 4)
  }

  @Test(arguments: Backend.available)
  func `a log of more saves than one transaction takes becomes entries once, in the order of the saves`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    for number in 0..<300 { try stack.saveItem("\(number)") }
    #expect(try await stack.outbox.counts().pending == 300)
    #expect(try count("CoherenceOutboxLog", in: stack) == 0)
    let titles: [OutboxValue] = try await stack.outbox.entries(limit: 400).compactMap { $0["title"]?.value }
    #expect(titles == (0..<300).map { .value(.string("\($0)")) })
  }

  @Test(arguments: Backend.available)
  func `programs that make the entries of one log at the same time make each entry once`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let other = try stack.another()
    for round in 0..<10 {
      for number in 0..<5 { try stack.saveItem("\(round) \(number)") }
      async let one = stack.outbox.counts()
      async let two = other.outbox.counts()
      _ = try await (one, two)
    }
    let entries = try await stack.outbox.entries()
    #expect(entries.count == 50 && Set(entries.map(\.idempotencyKey)).count == 50)
    #expect(try count("CoherenceOutboxLog", in: stack) == 0)
  }

  @Test(arguments: Backend.available)
  func `a merge reads the log twice: for the inserts and deletions, and for the edits of its records`(
    backend: Backend
  ) throws {
    let stack = try AgreementStack(backend, titles: [1: "one", 2: "two", 3: "three"])
    for title in ["first", "second"] { try stack.set(title, of: 1) }
    try stack.set("edited", of: 2)
    try stack.set("edited", of: 3)
    try stack.delete(3)
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    try stack.merge(AgreementStack.page([1: "new", 2: "new", 3: "three"]))
    #expect(operations.count(of: StackOperation(.fetch, "CoherenceOutboxLog")) == 2)
    #expect(try stack.titles() == [1: "second", 2: "edited"])
  }

  @Test(arguments: Backend.available)
  func `a large save leaves several rows, whose entries belong to one transaction`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let text = String(repeating: "text ", count: 400)
    try stack.save { context in
      for number in 0..<100 { try TestItem(context: context).title = text + "\(number)" }
    }
    #expect(try count("CoherenceOutboxLog", in: stack) > 2)
    let entries = try await stack.outbox.entries()
    #expect(entries.count == 100 && Set(entries.map(\.transaction)).count == 1)
    #expect(Set(entries.map(\.idempotencyKey)).count == 100)
  }

  @Test func `the log of a read-only store is listed and stays`() async throws {
    let stack = try OutboxStack(on: .sqlite)
    let item = try stack.saveItem("Milk")
    let reader = try stack.readOnly()
    #expect(try await reader.outbox.entries().map { $0["title"]?.value } == [.value(.string("Milk"))])
    #expect(try await reader.outbox.entries(of: item).count == 1)
    #expect(try await reader.outbox.counts().pending == 1)
    #expect(try count("CoherenceOutboxLog", in: stack) == 1)
  }

  @Test func `keys of a log are random UUIDs of version 4 that differ by change`() async throws {
    let stack = try OutboxStack(on: .inMemory)
    for _ in 0..<20 { try stack.saveItem("Milk") }
    for entry in try await stack.outbox.entries() {
      let bytes = entry.idempotencyKey.uuid
      #expect(bytes.6 >> 4 == 4 && bytes.8 >> 6 == 2)
    }
  }

  /// A log of one change.
  private static var sample: [UInt8] {
    var writer = EntryWriter()
    for byte in 0..<16 { writer.write(byte: UInt8(byte)) }
    writer.write(byte: 1)
    writer.write(signed: 3)
    for (index, name) in ["Item", "Thing"].enumerated() {
      writer.write(count: index)
      writer.write(text: name)
    }
    writer.write(signed: 7)
    writer.write(signed: 2)
    writer.writeEmptyPart()
    writer.writeEmptyPart()
    writer.writePart(EntryWriter.payload([], []))
    writer.writeEmptyPart()
    return [UInt8](writer.data)
  }

  @Test func `a log is decoded as it was written, and a cut log is refused`() throws {
    let whole = Self.sample
    var reader = try LogReader(Data(whole), firstSequence: 10)
    let change = try #require(try reader.next())
    #expect(change.kind == .update && change.sequence == 13)
    #expect(change.entityName == "Item" && change.record == OutboxRecord(rootName: "Thing", key: 7))
    #expect(change.recordVersion == 2 && change.identity == nil && change.whole == nil)
    #expect(try EntryReader.payload(change.payload).0.isEmpty)
    #expect(try reader.next() == nil)
    // The first 17 bytes, the version and the key, are a valid log without changes.
    for count in 0..<whole.count where count != 17 {
      #expect {
        var reader = try LogReader(Data(whole.prefix(count)), firstSequence: 0)
        while try reader.next() != nil {}
      } throws: { error in
        // The list has the entry to drop.
        ErrorCode.storeCorrupt ~= error && "\(error)".contains("entries(state: .parked)")
      }
    }
  }

  @Test(arguments: SeededRandom.seeds)
  func `a damaged log is decoded or refused, and never ends the process`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var refused = 0
    for _ in 0..<2000 {
      var bytes = Self.sample
      for _ in 0...random.next(below: 4) { bytes[random.next(below: bytes.count)] = UInt8(random.next(below: 256)) }
      do {
        var reader = try LogReader(Data(bytes), firstSequence: .max)
        while let change = try reader.next() {
          _ = (change.payload, change.identity, change.references, change.whole)
        }
      } catch ErrorCode.storeCorrupt { refused += 1 } catch { Issue.record("Seed \(seed): \(error)") }
    }
    #expect(refused > 0, "Seed \(seed)")
  }
}
