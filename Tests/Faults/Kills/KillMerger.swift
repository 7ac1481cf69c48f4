import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation

/// The client that merges pages of the server, each after the request for the page after the next one, so that every
/// page may be older than edits that another client has sent since. All edits at the server come from the store: no page
/// may change a record.
final class KillMerger {
  private let client: KillClient
  private let connect: KillClient.Container
  private let folder: EntityDescription
  private let note: EntityDescription
  private var pages: [(requestedAt: ContinuousClock.Instant, records: [String: KillRecord])] = []

  init(_ client: KillClient) throws {
    self.client = client
    connect = try client.open()
    let date = Date(timeIntervalSince1970: client.command.date)
    // The Connect keeps what a merge needs of the outbox.
    _ = try Outbox(connect, options: OutboxOptions(now: { date }))
    folder = try connect.managedObjectModel.entity(named: KillModel.folder)
    note = try connect.managedObjectModel.entity(named: KillModel.note)
  }

  func run() async throws {
    try await connect.start()
    while true { try merge() }
  }

  /// Requests a page, and merges the last page but two.
  private func merge() throws {
    let requestedAt = ContinuousClock.now
    if let records = try client.tell(.page, { _ in }).page { pages.append((requestedAt, records)) }
    guard pages.count > 2 else { return }
    let page = pages.removeFirst()
    try merge(folder, page.records, requestedAt: page.requestedAt)
    try merge(note, page.records, requestedAt: page.requestedAt)
  }

  private func merge(
    _ entity: EntityDescription, _ records: [String: KillRecord], requestedAt: ContinuousClock.Instant
  ) throws {
    let page = records.filter { $0.value.entity == entity.name }.sorted { $0.key < $1.key }.map { id, record in
      MergeRecord(
        ["id": id, "tag": record.tag, "rank": Int64(record.rank)],
        links: entity === note ? ["folder": record.folder.isEmpty ? .none : .one(MergeKey(record.folder))] : [:])
    }
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 1, requestedAt: requestedAt)
    let result = try connect.newActionContext().merge(records: page, for: entity, options: options)
    if result.inserted + result.updated + result.deleted > 0 {
      try client.tell(.failure) { $0.text = "A page of \(entity.name) changed records: \(result)" }
    }
  }
}
