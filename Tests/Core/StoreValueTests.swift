@testable import CoherenceCore
import Foundation
import Synchronization
import Testing

/// The values that stores and the core exchange.
@Suite struct StoreValueTests {
  private let model: ManagedObjectModel
  private let parent: EntityDescription
  private let child: EntityDescription

  init() throws {
    model = try ManagedObjectModel {
      Entity("Parent", isAbstract: true) { Attribute("a", .int64, default: 0) }
      Entity("Child", parent: "Parent") { Attribute("b", .string, optional: true) }
    }
    parent = try model.entity(named: "Parent")
    child = try model.entity(named: "Child")
  }

  // MARK: Queries

  @Test func `a query without subentities has its own entity, and none for an abstract one`() {
    func names(_ entity: EntityDescription, _ includesSubentities: Bool) -> [String] {
      StoreQuery(entity: entity, includesSubentities: includesSubentities).entities.map(\.name)
    }
    #expect(names(parent, true) == ["Child"] && names(parent, false) == [])
    #expect(names(child, true) == ["Child"] && names(child, false) == ["Child"])
  }

  @Test func `a column of grouped rows is found by a path of its number alone`() {
    let query = AggregateQuery(records: StoreQuery(entity: child), columns: [.key(0), .aggregate(0)])
    #expect(query.column(at: PropertyPath(names: ["0"])) == .key(0))
    #expect(query.column(at: PropertyPath(names: ["1"])) == .aggregate(0))
    for names in [[], ["2"], ["-1"], ["a"], ["0", "a"]] {
      #expect(query.column(at: PropertyPath(names: names)) == nil, "\(names)")
    }
  }

  // MARK: Migrations

  @Test func `a preview with any part is not empty`() {
    #expect(MigrationPreview().isEmpty)
    #expect(!MigrationPreview(statements: ["s"]).isEmpty)
    #expect(!MigrationPreview(convertedAttributes: ["a"]).isEmpty)
  }

  // MARK: Numbers of members

  @Test func `a number of members is refused below the least and above the greatest number`() {
    func code(_ count: Int, _ minimum: Int, _ maximum: Int?) -> ErrorCode? {
      MemberCountFailures.complaint(count, minimum: minimum, maximum: maximum)?.code
    }
    #expect(code(1, 2, nil) == .missingValue && code(2, 2, nil) == nil)
    #expect(code(3, 0, 3) == nil && code(4, 0, 3) == .invalidValue)
  }

  // MARK: Holds

  @Test func `a lasting hold is never free, and any other hold is free unless it is taken`() {
    let lasting = StateHold(isLasting: true)
    #expect(!lasting.isFree)
    lasting.release()
    #expect(!lasting.isFree)
    let hold = StateHold()
    #expect(hold.isFree)
    hold.take()
    #expect(!hold.isFree)
    hold.release()
    #expect(hold.isFree)
  }

  // MARK: Sinks

  private final class Sink: ValueSink {
    let slots = [0, 1]
    var count = 0
    func take(_ values: UnsafeMutablePointer<AttributeValue>) throws {
      count += 1
      values.deinitialize(count: slots.count)
    }
  }

  @Test func `a sink that fails to read a value takes none, and releases the values before it`() throws {
    struct Failure: Error {}
    let sink = Sink()
    let releases = Atomic<Int>(0)
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 1)
    defer { bytes.deallocate() }
    bytes.initializeMemory(as: UInt8.self, repeating: 7, count: 100)
    func put() throws {
      let data = Data(
        bytesNoCopy: bytes, count: 100, deallocator: .custom { _, _ in releases.add(1, ordering: .relaxed) })
      try sink.put { (slot: Int) throws -> AttributeValue in
        if slot == 1 { throw Failure() }
        return .data(data)
      }
    }
    #expect(throws: Failure.self) { try put() }
    let count = releases.load(ordering: .relaxed)
    #expect(sink.count == 0 && count == 1)
  }

  // MARK: Signals

  private final class Source: SignalSource {
    let isStopped = Atomic<Bool>(false)
    var isListening: Bool { true }
    func stop() { isStopped.store(true, ordering: .relaxed) }
  }

  @Test func `a released hub stops its source`() {
    let source = Source()
    var hub: SignalHub? = SignalHub()
    let listening = hub?.listen(to: "jobs", {}) { source }
    let isStoppedEarly = source.isStopped.load(ordering: .relaxed)
    hub = nil
    let isStopped = source.isStopped.load(ordering: .relaxed)
    #expect(!isStoppedEarly && isStopped)
    withExtendedLifetime(listening) {}
  }

  @Test func `a listening ends once, by its cancellation or by its release`() {
    let ends = Mutex(0)
    func count() -> Int { ends.withLock { $0 } }
    do {
      let listening = SignalListening { ends.withLock { $0 += 1 } }
      listening.cancel()
      listening.cancel()
      #expect(count() == 1)
    }
    #expect(count() == 1)
    do { _ = SignalListening { ends.withLock { $0 += 1 } } }
    #expect(count() == 2)
  }
}
