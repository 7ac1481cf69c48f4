@testable import CoherencePostgreSQL
import Testing

/// The numbers of a pool's connections. The tests need no server.
@Suite struct ConnectionSlotsTests {
  @Test func `readers leave one slot to a save`() {
    var slots = ConnectionSlots<Int>(size: 3)
    let areReading = (0..<3).map { _ in slots.take(isReading: true) != nil }
    #expect(areReading == [true, true, false])
    let isSaving = slots.take(isReading: false) != nil
    #expect(isSaving)
    #expect(!slots.hasFree)
  }

  @Test func `a returned connection is reused, and one beyond the size leaves the pool`() {
    var slots = ConnectionSlots<Int>(size: 2)
    _ = slots.take(isReading: true)
    _ = slots.take(isReading: false)
    _ = slots.takeBeyondSize(isReading: true)
    slots.giveBack(7, isReading: true)
    #expect(!slots.hasIdle)
    slots.giveBack(8, isReading: true)
    let reused = slots.take(isReading: true)?.connection
    #expect(reused == 8)
  }

  @Test func `a connection from beside the pool joins the pool only if it has room`() {
    var slots = ConnectionSlots<Int>(size: 2)
    slots.giveBackBesidePool(1)
    let lasting = slots.takeBesidePool()
    #expect(lasting == 1)
    _ = slots.take(isReading: true)
    _ = slots.take(isReading: false)
    slots.giveBackBesidePool(2)
    #expect(!slots.hasIdle)
    #expect(!slots.hasFree)
  }

  @Test func `another reader gets a slot after a reader has passed its connection to a save`() {
    var slots = ConnectionSlots<Int>(size: 2)
    _ = slots.take(isReading: true)
    let isRefused = slots.take(isReading: true) == nil
    #expect(isRefused)
    slots.passToSave()
    let isReading = slots.take(isReading: true) != nil
    #expect(isReading)
  }

  @Test func `a waiting thread gets the connection that the pool reclaims from a reader`() {
    var slots = ConnectionSlots<Int>(size: 2)
    _ = slots.take(isReading: true)
    slots.reclaim(5)
    let reclaimed = slots.take(isReading: true)?.connection
    #expect(reclaimed == 5)
    let idle = slots.removeIdle()
    #expect(idle.isEmpty)
    #expect(slots.hasFree)
  }
}
