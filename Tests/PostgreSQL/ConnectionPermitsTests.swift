@testable import CoherencePostgreSQL
import Testing

/// The numbers of a pool's connections. The tests need no server.
@Suite struct ConnectionPermitsTests {
  @Test func `readers leave one permit to a save`() {
    var permits = ConnectionPermits<Int>(size: 3)
    let areReading = (0..<3).map { _ in permits.take(isReading: true) != nil }
    #expect(areReading == [true, true, false])
    let isSaving = permits.take(isReading: false) != nil
    #expect(isSaving)
    #expect(!permits.hasFree)
  }

  @Test func `a returned connection is reused, and one beyond the size leaves the pool`() {
    var permits = ConnectionPermits<Int>(size: 2)
    _ = permits.take(isReading: true)
    _ = permits.take(isReading: false)
    _ = permits.takeBeyondSize(isReading: true)
    permits.giveBack(7, isReading: true)
    #expect(!permits.hasIdle)
    permits.giveBack(8, isReading: true)
    let reused = permits.take(isReading: true)?.connection
    #expect(reused == 8)
  }

  @Test func `a connection from beside the pool joins the pool only if it has room`() {
    var permits = ConnectionPermits<Int>(size: 2)
    permits.giveBackBesidePool(1)
    let lasting = permits.takeBesidePool()
    #expect(lasting == 1)
    _ = permits.take(isReading: true)
    _ = permits.take(isReading: false)
    permits.giveBackBesidePool(2)
    #expect(!permits.hasIdle)
    #expect(!permits.hasFree)
  }

  @Test func `a refused connection lowers the number of connections until it rises again`() {
    var permits = ConnectionPermits<Int>(size: 4)
    for _ in 0..<3 { _ = permits.take(isReading: false) }
    let areOthersOpen = permits.giveBackRefused(isReading: false)
    #expect(areOthersOpen)
    #expect(permits.isLimited && !permits.hasFree)
    permits.raiseLimit()
    let isSaving = permits.take(isReading: false) != nil
    #expect(isSaving)
    #expect(permits.isLimited && !permits.hasFree)
    permits.raiseLimit()
    #expect(!permits.isLimited && permits.hasFree)
  }

  @Test func `the only connection that the server permits serves readers and saves`() {
    var permits = ConnectionPermits<Int>(size: 4)
    for _ in 0..<2 { _ = permits.take(isReading: true) }
    _ = permits.giveBackRefused(isReading: true)
    permits.giveBack(1, isReading: true)
    let reading = permits.take(isReading: true)?.connection
    #expect(reading == 1)
    permits.giveBack(reading, isReading: true)
    let saving = permits.take(isReading: false)?.connection
    #expect(saving == 1)
    let areOthersOpen = permits.giveBackRefused(isReading: false)
    #expect(!areOthersOpen)
  }

  @Test func `another reader gets a permit after a reader has passed its connection to a save`() {
    var permits = ConnectionPermits<Int>(size: 2)
    _ = permits.take(isReading: true)
    let isRefused = permits.take(isReading: true) == nil
    #expect(isRefused)
    permits.passToSave()
    let isReading = permits.take(isReading: true) != nil
    #expect(isReading)
  }

  @Test func `a waiting thread gets the connection that the pool reclaims from a reader`() {
    var permits = ConnectionPermits<Int>(size: 2)
    _ = permits.take(isReading: true)
    permits.reclaim(5)
    let reclaimed = permits.take(isReading: true)?.connection
    #expect(reclaimed == 5)
    let idle = permits.removeIdle()
    #expect(idle.isEmpty)
    #expect(permits.hasFree)
  }
}
