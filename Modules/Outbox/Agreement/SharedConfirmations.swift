import CoherenceCore
import Foundation

/// The confirmations that the processes with a store share: records of the store, which a merge of any other process
/// reads. Used inside of a context.
///
/// A forwarder adds the confirmations of its edits to the transaction that deletes their entries. A merge reads the
/// entries first, so that it sees the entries of an edit, its confirmation, or both.
///
/// The times are those of the processes' clocks. A record is kept as long as a request may take, and the number of
/// records is limited.
struct SharedConfirmations {
  private let context: ManagedObjectContext
  /// The confirmations of this process, which a merge reads from memory.
  private let own: Confirmations
  private let now: @Sendable () -> Date

  /// The time for which a record is kept.
  private static let duration: TimeInterval = 300
  /// The greatest difference between the clocks of two machines for which a confirmation protects its edit from every
  /// older page. A page requested within this time after the confirmation by another machine counts as older, too.
  private static let tolerance: TimeInterval = 2
  /// The greatest number of records in the store. The latest records are kept.
  private static let limit = 10_000
  /// The greatest number of records that one call deletes.
  private static let batch = 1_000

  /// - Parameters:
  ///   - own: The confirmations of this process.
  ///   - now: The clock of this process.
  init(in context: ManagedObjectContext, besides own: Confirmations, now: @escaping @Sendable () -> Date) {
    self.context = context
    self.own = own
    self.now = now
  }

  // MARK: Forwarders

  /// Adds confirmations, as one record in each of their stores. The caller saves.
  func add(_ confirmations: [Confirmation]) throws {
    guard let coordinator = context.persistentStoreCoordinator else { return }
    for (identifier, confirmations) in Dictionary(grouping: confirmations, by: \.subject.store) {
      guard let store = coordinator.persistentStore(with: identifier) else { continue }
      let record = try OutboxConfirmationRecord(context: context)
      try context.assign(record, to: store)
      record.time = now()
      record.process = own.process
      record.machine = Confirmations.machine
      record.payload = Confirmation.data(of: confirmations)
    }
  }

  /// Deletes expired records in a transaction of its own. A record of a time far in the future is expired, because the
  /// clock was set back since. The records of read-only stores stay.
  func deleteExpired() throws {
    let now = self.now()
    let (future, past) = (now.addingTimeInterval(Self.duration), try oldestTime(at: now))
    let expired = FetchRequest(OutboxConfirmationRecord.self).filter { $0.time < past || $0.time > future }
    let ids = try context.writableIDs(expired, limit: Self.batch)
    guard !ids.isEmpty else { return }
    try context.execute(
      BatchDeleteRequest(
        entityName: OutboxConfirmationRecord.entityName,
        predicate: .membership(.path(.own), in: ids.map(AttributeValue.reference))))
  }

  /// The time of the oldest record to keep.
  private func oldestTime(at now: Date) throws -> Date {
    let beginning = now.addingTimeInterval(-Self.duration)
    let request = FetchRequest(OutboxConfirmationRecord.self).filter { $0.time >= beginning }
    return try context.fetch(request.sort(\.time, .reverse).limit(1, offset: Self.limit - 1)).first?.time ?? beginning
  }

  // MARK: Merges

  /// Returns the confirmations of other processes since a time.
  ///
  /// - Throws: Errors of the store; ``ErrorCode/storeCorrupt`` for confirmations of a later release.
  func since(_ time: ContinuousClock.Instant, _ names: RecordedNames) throws -> [Confirmation] {
    let now = self.now()
    let requested = now.addingTimeInterval(-((ContinuousClock.now - time) / .seconds(1)))
    let earliest = requested.addingTimeInterval(-Self.tolerance)
    let latest = now.addingTimeInterval(Self.duration)
    let process = own.process
    let request = FetchRequest(OutboxConfirmationRecord.self).filter {
      $0.time >= earliest && $0.time <= latest && $0.process != process
    }
    let sink = try ConfirmationSink(names.model)
    try context.read(request, into: sink)
    return try sink.records.flatMap { record in
      guard let store = record.id.storeIdentifier,
        // The tolerance is for clocks of other machines.
        record.time >= requested || record.machine != Confirmations.machine
      else { return [] as [Confirmation] }
      return try decoded(record.payload, of: store, names)
    }
  }

  /// Decodes the confirmations of a record, with an error that says how to go on.
  private func decoded(
    _ payload: Data, of store: StoreIdentifier, _ names: RecordedNames
  ) throws(CoherenceError) -> [Confirmation] {
    do {
      return try Confirmation.decoded(payload, of: store, names)
    } catch {
      throw CoherenceError(
        error.code,
        "The edits that another process has sent since the request of the page cannot be read: a later release wrote "
          + "them, or they are damaged. Update the program, or request the page again.")
    }
  }
}

/// Collects the values of confirmations without objects.
private final class ConfirmationSink: ValueSink {
  struct Record {
    let id: ManagedObjectID
    let time: Date
    let machine: String
    let payload: Data
  }

  let slots: [Int]
  private(set) var records: [Record] = []
  private(set) var count = 0

  init(_ model: ManagedObjectModel) throws {
    let entity = try model.entity(named: OutboxConfirmationRecord.entityName)
    let table = OutboxConfirmationRecord.Properties.table
    let names = [table.time.name, table.machine.name, table.payload.name]
    slots = [Row.identifierSlot] + names.compactMap { entity.attribute(named: $0)?.slot }
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    count += 1
    guard case .reference(let id) = values[0], let time = Date(attributeValue: values[1]),
      case .string(let machine) = values[2], case .data(let payload) = values[3]
    else { return }
    records.append(Record(id: id, time: time, machine: machine, payload: payload))
  }
}
