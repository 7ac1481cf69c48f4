import Foundation
import Synchronization
import Testing

@testable import CoherenceCore

/// The posts of other threads to the live results of a context.
@Suite struct LiveInboxTests {
  /// Counts the turns of a context.
  private final class TurnCounter: TurnObserver {
    var count = 0
    func turnBegan(in context: ManagedObjectContext) { count += 1 }
    func turnContinues(in context: ManagedObjectContext) {}
    func turnEnds(in context: ManagedObjectContext) {}
    func turnEnded(in context: ManagedObjectContext) {}
    func snapshotChanged(in context: ManagedObjectContext) {}
  }

  @Test func `a change that arrives while the inbox is processed leads to another turn`() throws {
    let context = ManagedObjectContext()
    let counter = TurnCounter()
    context.performAndWait { context.turnObserver = counter }
    let inbox = LiveInbox(try #require(context.storage.handle), context.storage.confinement)
    for round in 0..<2_000 {
      DispatchQueue.concurrentPerform(iterations: 2) { part in
        if part == 0 { inbox.receive(.everything) } else { _ = inbox.take() }
      }
      _ = inbox.take()
      context.performAndWait { counter.count = 0 }
      inbox.receive(.everything)
      // This block runs after the turn that the change requests.
      let turns = context.performAndWait { counter.count }
      #expect(turns == 2, "round \(round)")
      _ = inbox.take()
      if turns != 2 { return }
    }
  }

  @Test func `changes that waited count towards the bound of the inbox`() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    let space = IDSpaces(store: StoreIdentifier("inbox"), model: model)[try model.entity(named: "Thing")]
    func touched(_ keys: Range<Int>) -> TouchedRecords {
      var records = TouchedRecords()
      for key in keys { records.add(ManagedObjectID(space: space, key: Int64(key))) }
      return records
    }
    let context = ManagedObjectContext()
    let inbox = LiveInbox(try #require(context.storage.handle), context.storage.confinement)
    for surplus in 0...1 {
      inbox.follow(.none)
      inbox.receive(touched(0..<6_000))
      inbox.follow(.all)
      inbox.receive(touched(6_000..<(LiveInbox.bound + surplus)))
      #expect(inbox.take().isEverything == (surplus == 1))
    }
  }

  @Test func `the inbox of an idle context keeps no list of many resets`() throws {
    let context = ManagedObjectContext()
    let inbox = LiveInbox(try #require(context.storage.handle), context.storage.confinement)
    var everything = TouchedRecords()
    everything.isEverything = true
    for _ in 0...LiveInbox.bound { inbox.receive(everything) }
    let content = inbox.take()
    #expect(content.isEverything)
    #expect(content.touched.isEmpty)
  }

  /// Records the names of the received changes.
  private final class Recorder: StoreEventReceiver {
    let received = Mutex<[(record: String, isOverlapped: Bool)]>([])
    let onFirst = Mutex<(@Sendable () -> Void)?>(nil)

    func receive(_ event: StoreEvent) {
      guard case .changed(let changes) = event else { return }
      onFirst.withLock { $0.take() }?()
      received.withLock { $0.append((changes.records.first?.id.entity.name ?? "", changes.isOverlapped)) }
    }
  }

  @Test func `the changes of a save that begins during a delivery follow the delivery, and are uncertain`() throws {
    let model = try ManagedObjectModel {
      Entity("First") { Attribute("name", .string) }
      Entity("Second") { Attribute("name", .string) }
    }
    let spaces = IDSpaces(store: StoreIdentifier("hub"), model: model)
    func changes(_ name: String) throws -> StoreChanges {
      var changes = StoreChanges()
      changes.add(batch: [ManagedObjectID(space: spaces[try model.entity(named: name)], key: 1)], as: .updated)
      return changes
    }
    let (first, second) = (try changes("First"), try changes("Second"))
    for _ in 0..<50 {
      let hub = StoreEventHub()
      let (gate, last) = (Recorder(), Recorder())
      hub.add(gate)
      hub.add(last)
      let ended = DispatchSemaphore(value: 0)
      gate.onFirst.withLock {
        $0 = {
          let begun = DispatchSemaphore(value: 0)
          Thread.detachNewThread {
            let turn = hub.begin()
            begun.signal()
            hub.end(turn, second)
            ended.signal()
          }
          begun.wait()
          for _ in 0..<100 { sched_yield() }
        }
      }
      hub.end(hub.begin(), first)
      ended.wait()
      let received = last.received.withLock { $0 }
      #expect(received.map(\.record) == ["First", "Second"])
      #expect(received.map(\.isOverlapped) == [false, true])
    }
  }
}
