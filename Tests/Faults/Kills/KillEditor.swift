import CoherenceActions
@testable import CoherenceConformance
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import Synchronization

/// The client that edits records and forwards the edits.
final class KillEditor: Sendable {
  private let client: KillClient
  private let container: KillClient.Container
  private let outbox: Outbox
  private let death: KillStep
  private let random: Mutex<SplitMix64>
  private let number: Mutex<Int>

  private var command: KillCommand { client.command }

  init(_ client: KillClient) throws {
    self.client = client
    death = KillStep(client.command)
    random = Mutex(SplitMix64(seed: client.command.seed))
    number = Mutex(client.command.firstNumber)
    container = try client.open()
    let date = Date(timeIntervalSince1970: client.command.date)
    outbox = try Outbox(container, options: OutboxOptions(now: { date }))
    for entity in [KillModel.folder, KillModel.note] {
      try outbox.forward(entity) { handlers in
        handlers.insert { try Self.send($0, client) }
        handlers.update { try Self.send($0, client) }
        handlers.delete { try Self.send($0, client) }
      }
    }
    outbox.forwardingSteps = death
  }

  func run() async throws {
    if command.work == .edit {
      // The forwarding of earlier edits may run beside the edits.
      if random.withLock({ $0.chance(50) }) { try start() }
      for _ in 0..<random.withLock({ $0.number(1...4) }) { try edit() }
    }
    if !outbox.isStarted { try start() }
    while command.work != .settle {
      try await outbox.flush()
      if command.work == .edit { try edit() }
    }
    try await outbox.flush()
    await outbox.stop()
    let rest = try await outbox.entries().map { "\($0.kind) \($0.record), \($0.state) \($0.lastError ?? "")" }
    let records = try records()
    try client.tell(.contents) { $0.contents = KillContents(records: records, entries: rest) }
  }

  private func start() throws {
    let retry = RetryPolicy(attempts: 1000, initialDelay: .zero, jitter: 0)
    let concurrency = random.withLock { $0.number(1...3) }
    try outbox.start(
      ForwardOptions(concurrency: concurrency, retry: retry, lookahead: random.withLock { $0.number(0...6) }))
  }

  // MARK: Sending

  private static func send(_ request: ForwardRequest<ManagedObject>, _ client: KillClient) throws -> ForwardAnswer {
    let answer = try client.tell(.request) { message in
      message.request = KillRequest(
        key: request.idempotencyKey, attempt: request.attempt, kind: "\(request.kind)", entity: request.entityName,
        id: text(request.keys["id"]) ?? "", tag: text(request["tag"]), rank: number(request["rank"]),
        baseRank: number(request.base["rank"]),
        folder: request.references["folder"].map { text($0?["id"]) ?? "" })
    }
    if let refusal = answer.refusal { return .rejected(KillRefusal(text: refusal)) }
    return answer.id.map { .accepted(["id": $0]) } ?? .accepted
  }

  private static func text(_ value: AttributeValue?) -> String? {
    if case .string(let text)? = value { text } else { nil }
  }

  private static func number(_ value: AttributeValue?) -> Int? {
    if case .int(let number)? = value { Int(number) } else { nil }
  }

  // MARK: Editing

  /// Makes one edit. Repeats the edit if the reply to an earlier edit has changed the record at the same time.
  private func edit() throws {
    let number = number.withLock { number in
      defer { number += 1 }
      return number
    }
    let start = random.withLock { $0 }
    for attempt in 0..<50 {
      random.withLock { $0 = start }
      do {
        return try edit(number)
      } catch  where attempt < 49 && ErrorCode.versionConflict ~= error {
        continue
      }
    }
  }

  private func edit(_ number: Int) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let changes = try change(number, in: context)
      try client.tell(.willSave) { message in
        message.number = number
        message.changes = changes
      }
      death.reached("saving")
      try context.save()
      death.reached("saved")
      try client.tell(.didSave) { $0.number = number }
    }
  }

  /// - Returns: The ranks of the changed records by tag; zero for a deleted one.
  private func change(_ number: Int, in context: ManagedObjectContext) throws -> [String: Int] {
    let notes = try newest(KillModel.note, in: context)
    let folders = try newest(KillModel.folder, in: context)
    var random = random.withLock { $0 }
    defer { self.random.withLock { $0 = random } }
    let folder = folders.isEmpty || random.chance(30) ? nil : random.pick(folders)
    switch random.number(0...9) {
    case 0..<2: return try insert(KillModel.folder, number, in: context).0
    case 2..<5:
      let (changes, note) = try insert(KillModel.note, number, in: context)
      try note.setObject(folder, for: "folder")
      return changes
    case 5..<9:
      guard let note = (notes + folders).isEmpty ? nil : random.pick(notes + folders) else { break }
      try note.setValue(Int64(number), for: "rank")
      if random.chance(50), note.entity.name == KillModel.note { try note.setObject(folder, for: "folder") }
      return [try note.value(for: "tag", as: String.self): number]
    default:
      guard let object = (notes + folders).isEmpty ? nil : random.pick(notes + folders) else { break }
      var deleted = [object]
      if object.entity.name == KillModel.folder { deleted += try object.objects(for: "notes") }
      let tags = try deleted.map { try $0.value(for: "tag", as: String.self) }
      context.delete(object)
      return Dictionary(uniqueKeysWithValues: tags.map { ($0, 0) })
    }
    return try insert(KillModel.note, number, in: context).0
  }

  private func insert(
    _ entity: String, _ number: Int, in context: ManagedObjectContext
  ) throws -> ([String: Int], ManagedObject) {
    let object = try context.insertNewObject(forEntityName: entity)
    let tag = "\(entity) \(number)"
    try object.setValue(UUID().uuidString, for: "id")
    try object.setValue(tag, for: "tag")
    try object.setValue(Int64(number), for: "rank")
    return ([tag: number], object)
  }

  private func newest(_ entity: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.sortKeys = [SortKey("rank", .reverse)]
    request.fetchLimit = 8
    return try context.fetch(request)
  }

  private func records() throws -> [String: KillRecord] {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      var records: [String: KillRecord] = [:]
      for entity in [KillModel.folder, KillModel.note] {
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity)) {
          let folder = entity == KillModel.note ? try object.object(for: "folder") : nil
          records[try object.value(for: "id", as: String.self)] = KillRecord(
            entity: entity, tag: try object.value(for: "tag", as: String.self),
            rank: Int(try object.value(for: "rank", as: Int64.self)),
            folder: try folder?.value(for: "id", as: String.self) ?? "")
        }
      }
      return records
    }
  }
}

/// The server of the test refuses an edit.
struct KillRefusal: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}

/// Kills the process when a step was reached a number of times.
final class KillStep: ForwardingSteps {
  /// All steps from a save to its acknowledgement that the client can name.
  static let all = ["saving", "saved"] + ForwardingStep.allCases.map(\.rawValue)

  private let step: String?
  private let rest: Mutex<Int>

  init(_ command: KillCommand) {
    step = command.step
    rest = Mutex(command.count)
  }

  func reached(_ step: ForwardingStep, _ key: UUID) -> Bool {
    reached(step.rawValue)
    return true
  }

  func reached(_ step: String) {
    guard step == self.step else { return }
    let isLast = rest.withLock { rest in
      rest -= 1
      return rest == 0
    }
    if isLast { KillClient.die() }
  }
}
