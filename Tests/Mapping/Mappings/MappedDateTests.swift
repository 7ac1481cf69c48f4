import CoherenceCore
import CoherenceMapping
import Foundation
import Testing
import TestSupport

@Suite("Dates of models")
struct MappedDateTests {
  private struct Event: Codable, Sendable, Hashable {
    var id: Int
    var begins: Date
    var ends: Date?
    var notes: [Date] = []

    static let mapping = Mapping<Event>("Event", uid: \.id) {
      Field("id", \.id)
      Field("begins", \.begins)
      Field("ends", \.ends)
      Field("notes", json: \.notes)
    }
  }

  /// A date with a fraction of a microsecond.
  private static let fine = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_78)

  private func stack(_ backend: Backend, _ events: [Event]) throws -> MappingStack {
    let stack = try MappingStack(backend, model: ManagedObjectModel { Event.mapping })
    try stack.manager.save(Event.mapping, models: events, shouldOverwrite: true)
    return stack
  }

  @Test(arguments: Backend.available)
  func `a saved model with the current date is fetched in its stored form`(backend: Backend) throws {
    let events = [
      Event(id: 1, begins: Self.fine, ends: Self.fine.addingTimeInterval(0.000_000_7), notes: [Self.fine]),
      Event(id: 2, begins: .now, ends: nil),
    ]
    let stack = try stack(backend, events)
    let fetched = try stack.manager.fetchModels(Event.mapping, sort: [Event.mapping.order(\.id)])
    #expect(fetched == (try events.map(Event.mapping.storedForm)))
    #expect(fetched[0] != events[0] && fetched[0].notes == [Self.fine])
    #expect(fetched.map(\.begins) == events.map { $0.begins.roundedToMicroseconds() })
    #expect(try fetched.map(Event.mapping.storedForm) == fetched)
    // Saving either the original or the fetched model changes nothing.
    #expect(try stack.manager.save(Event.mapping, models: events, shouldOverwrite: true).unchanged == 2)
    #expect(try stack.manager.save(Event.mapping, models: fetched, shouldOverwrite: true).unchanged == 2)
  }

  @Test(arguments: Backend.available)
  func `every kind of condition finds a record by its saved date`(backend: Backend) throws {
    let later = Event(id: 2, begins: Self.fine.addingTimeInterval(60))
    let stack = try stack(backend, [Event(id: 1, begins: Self.fine), later])
    let events = Event.mapping
    let conditions: [FetchPredicate] = [
      events[\.begins] == Self.fine, !(events[\.begins] != Self.fine), events[\.begins] <= Self.fine,
      try FetchPredicate(format: "begins == %@", Self.fine), try FetchPredicate(format: "begins IN %@", [Self.fine]),
      try FetchPredicate(format: "begins BETWEEN %@", [Self.fine, Self.fine]),
      .comparison(.path(PropertyPath("begins")), .equal, .value(Self.fine.attributeValue)),
    ]
    for condition in conditions {
      #expect(try stack.manager.fetchModels(events, where: condition).map(\.id) == [1], "\(condition)")
    }
    #expect(try stack.manager.fetchModels(events, where: events[\.begins] > Self.fine).map(\.id) == [2])
    // The condition has the same meaning for unsaved records.
    try stack.work { context in
      try context.insertNewObject(forEntityName: "Event").setValue(Self.fine, for: "begins")
      var request = FetchRequest<ManagedObject>(entityName: "Event")
      request.predicate = conditions[0]
      let count = try context.count(for: request)
      #expect(count == 2)
      context.rollback()
    }
  }

  @Test(arguments: Backend.available)
  func `a fetched date is saved as the same date, also in distant centuries`(backend: Backend) throws {
    let starts = [-5_000_000_000.000_001_3, -900_000_000.3, 4_500_000_000.000_001_3, 60_000_000_000.1]
    let dates = starts.flatMap { start in
      (0..<50).map { Date(timeIntervalSinceReferenceDate: start + Double($0) * 0.777_777_7) }
    }
    let stack = try stack(backend, dates.enumerated().map { Event(id: $0.offset, begins: $0.element) })
    let fetched = try stack.manager.fetchModels(Event.mapping, sort: [Event.mapping.order(\.id)])
    #expect(fetched.map(\.begins) == dates.map { $0.roundedToMicroseconds() })
    #expect(fetched.allSatisfy { $0.begins == $0.begins.roundedToMicroseconds() })
    #expect(try stack.manager.save(Event.mapping, models: fetched, shouldOverwrite: true).unchanged == dates.count)
    #expect(Date.distantFuture.roundedToMicroseconds() == .distantFuture)
    let beyond = Date(timeIntervalSince1970: 1e15)
    #expect(beyond.roundedToMicroseconds() == beyond)
  }

  @Test(arguments: Backend.available)
  func `a record class rounds a date when fromModel assigns it`(backend: Backend) throws {
    let model = try ManagedObjectModel {
      Entity("AppointmentRecord", class: AppointmentRecord.self) {
        Attribute("uid", .int64)
        Attribute("begins", .date, optional: true)
      }
    }
    let stack = try MappingStack(backend, model: model)
    let appointment = Appointment(uid: 1, begins: Self.fine)
    let assigned = try stack.work { context in
      let record = try #require(
        try context.insertNewObject(forEntityName: "AppointmentRecord") as? AppointmentRecord)
      record.fromModel(appointment)
      let model = record.toModel()
      context.rollback()
      return model
    }
    #expect(assigned == Appointment(uid: 1, begins: Self.fine.roundedToMicroseconds()) && assigned != appointment)
    try stack.manager.save(entity: AppointmentRecord.self, models: [appointment], shouldOverwrite: false)
    let fetched: [Appointment] = try stack.manager.fetchModels(entity: AppointmentRecord.self)
    #expect(fetched == [assigned])
    let again = try stack.manager.save(entity: AppointmentRecord.self, models: fetched, shouldOverwrite: true)
    #expect(again.unchanged == 1)
  }

  @Test func `storedForm throws for a model that a save would refuse`() throws {
    let error = #expect(throws: CoherenceError.self) {
      try Event.mapping.storedForm(of: Event(id: 1, begins: Date(timeIntervalSince1970: 1e15)))
    }
    #expect(error?.code == .modelDoesNotFit && error?.message.contains("begins") == true)
  }
}

private struct Appointment: CoreModel, Sendable, Hashable {
  let uid: Int
  var begins: Date?
}

private final class AppointmentRecord: ManagedObject, RecordFromModel, RecordToModel {
  typealias ModelType = Appointment
  static let uidAttribute = AttributeKey<Int>("uid")
  static let beginsAttribute = AttributeKey<Date?>("begins")
  static var entityName: String { "AppointmentRecord" }
  var uid: Int { self[Self.uidAttribute] }

  func fromModel(_ model: Appointment) {
    self[Self.uidAttribute] = model.uid
    self[Self.beginsAttribute] = model.begins
  }
  func toModel() -> Appointment { Appointment(uid: uid, begins: self[Self.beginsAttribute]) }
}
