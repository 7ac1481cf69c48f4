import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CoherenceCore

/// Reservations of records by saves with conflicts.
@Suite struct SaveReservationsTests {
  private let space: IDSpace

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    space = IDSpaces(store: StoreIdentifier("reservations"), model: model)[try model.entity(named: "Thing")]
  }

  private func id(_ key: Int) -> ManagedObjectID { ManagedObjectID(space: space, key: Int64(key)) }

  @Test func `two saves never reserve one record at the same time`() {
    let reservations = SaveReservations()
    let ids = (0..<4).map(id)
    let inside = ids.map { _ in Atomic0() }
    DispatchQueue.concurrentPerform(iterations: 8) { seed in
      for round in 0..<200 {
        let (one, other) = ((seed + round) % 4, (seed + round * 3 + 1) % 4)
        var reservation = SaveReservations.Reservation()
        reservations.begin(&reservation, with: [ids[one], ids[other]])
        for index in Set([one, other]) {
          let count = inside[index].value.add(1, ordering: .relaxed).newValue
          #expect(count == 1)
        }
        for index in Set([one, other]) { inside[index].value.subtract(1, ordering: .relaxed) }
        reservations.end(&reservation)
      }
    }
  }

  @Test func `a save waits for reservations of its own records only`() {
    let reservations = SaveReservations()
    var reservation = SaveReservations.Reservation()
    reservations.begin(&reservation, with: [id(1)])
    let (same, other) = (id(1), id(2))
    let isWaited = Atomic<Bool>(true)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      isWaited.store(reservations.waitForOthers([other]), ordering: .relaxed)
      done.signal()
    }
    done.wait()
    let waitedForOther = isWaited.load(ordering: .relaxed)
    #expect(!waitedForOther)
    Thread.detachNewThread {
      isWaited.store(reservations.waitForOthers([same]), ordering: .relaxed)
      done.signal()
    }
    while reservations.waiterCount == 0 { continue }
    reservations.end(&reservation)
    done.wait()
    let waitedForSame = isWaited.load(ordering: .relaxed)
    #expect(waitedForSame)
    #expect(reservation.isEmpty)
  }

  @Test func `a save that has reserved a record may save the record again in a nested save`() {
    let reservations = SaveReservations()
    var reservation = SaveReservations.Reservation()
    reservations.begin(&reservation, with: [id(1)])
    #expect(!reservations.waitForOthers([id(1)]))
    var inner = SaveReservations.Reservation()
    reservations.begin(&inner, with: [id(1)])
    reservations.end(&inner)
    reservations.end(&reservation)
  }
}

private final class Atomic0: Sendable {
  let value = Atomic<Int>(0)
}
