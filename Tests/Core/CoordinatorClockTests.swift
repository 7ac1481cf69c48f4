import CoherenceCore
import Foundation
import Testing

@Suite("The clock of a coordinator")
struct CoordinatorClockTests {
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    let model = try ManagedObjectModel { Entity("A") { Attribute("name", .string) } }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
  }

  @Test func `a clock is the same function after a million reads, and needs no more stack`() {
    let date = Date(timeIntervalSince1970: 784_111_777)
    coordinator.clock = { date }
    for _ in 0..<1_000_000 { _ = coordinator.clock }
    #expect(coordinator.clock() == date)
  }

  @Test func `a clock is released by its successor`() {
    final class Owner: Sendable {
      let date = Date()
    }
    var owner: Owner? = Owner()
    weak let reference = owner
    coordinator.clock = { [owner] in owner?.date ?? Date() }
    owner = nil
    #expect(reference != nil)
    coordinator.clock = { Date() }
    #expect(reference == nil)
  }
}
