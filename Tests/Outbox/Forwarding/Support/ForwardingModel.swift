import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import Synchronization
import TestRandom
import TestSupport

/// A random run of clients with one server. A seed repeats it, except for the order of simultaneous requests.
final class ForwardingModel {
  private var random: SeededRandom
  private let server = NoteServer()
  private let clients: [NoteStack]
  private var nextTitle = 0

  init(_ backend: Backend, seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    let server = server
    clients = try (0..<2 + random.next(below: 2)).map { _ in try NoteStack(backend, server: server) }
  }

  /// Runs the steps, and returns the differences between the clients and the server at the end.
  func run() async throws -> [String] {
    let faults = RandomFaults(seed: random.next(), probability: Double(random.next(below: 4)) / 10)
    await server.randomize { faults.next() }
    for _ in 0..<6 + random.next(below: 10) { try await step() }
    await server.randomize(nil)
    return try await differences()
  }

  // MARK: Steps

  private func step() async throws {
    let client = clients[random.next(below: clients.count)]
    switch random.next(below: 10) {
    case 0..<5: for _ in 0...random.next(below: 4) { try edit(client) }
    case 5: try await editServer()
    case 6: try await crash(client)
    case 7: try await editWhileForwarding(client)
    default: try await client.forwardAll(options(client))
    }
  }

  private func options(_ client: NoteStack) -> ForwardOptions {
    client.options(concurrency: 1 + random.next(below: 3), lookahead: random.next(below: 8))
  }

  private func crash(_ client: NoteStack) async throws {
    let steps = ForwardingStep.allCases
    client.outbox.forwardingSteps = CrashPlan(
      at: steps[random.next(below: steps.count)], count: 1 + random.next(below: 4))
    // The flush throws when the forwarder ends.
    _ = try? await client.forwardAll(options(client))
    await client.outbox.stop()
    client.outbox.forwardingSteps = nil
    for client in clients { client.time.advance(by: .seconds(61)) }
  }

  private func editWhileForwarding(_ client: NoteStack) async throws {
    try client.outbox.start(options(client))
    for _ in 0...random.next(below: 4) { try edit(client) }
    try await client.outbox.flush()
    await client.outbox.stop()
  }

  private func editServer() async throws {
    let records = await server.records.filter { $0.value.entityName == Note.entityName }
    guard let id = records.keys.sorted().randomElement(using: &random) else { return }
    nextTitle += 1
    let title = "server \(nextTitle)"
    await server.change(id) { $0.values["title"] = .string(title) }
  }

  /// Makes one edit of a user. The edit is repeated when the acknowledgement of another edit changes the record at the
  /// same time.
  private func edit(_ client: NoteStack) throws {
    let start = random
    for attempt in 0..<20 {
      random = start
      do {
        return try client.edit { try edit(in: $0) }
      } catch  where attempt < 19 && (error as? CoherenceError)?.code == .versionConflict {
        continue
      }
    }
  }

  private func edit(in context: ManagedObjectContext) throws {
    let notes = try context.fetch(FetchRequest(Note.self).sort(\.title))
    let folders = try context.fetch(FetchRequest(NoteFolder.self).sort(\.name))
    nextTitle += 1
    switch random.next(below: 10) {
    case 0:
      let folder = try NoteFolder(context: context)
      folder.id = UUID().uuidString
      folder.name = "folder \(nextTitle)"
    case 1..<4:
      let note = try Note(context: context)
      note.id = UUID().uuidString
      note.title = "note \(nextTitle)"
      note.folder = random.isTrue(0.5) ? folders.randomElement(using: &random) : nil
    case 4..<6: notes.randomElement(using: &random)?.title = "edit \(nextTitle)"
    case 6: notes.randomElement(using: &random)?.rank += 1
    case 7: notes.randomElement(using: &random)?.folder = folders.randomElement(using: &random)
    case 8: if let note = notes.randomElement(using: &random) { context.delete(note) }
    default: if let folder = folders.randomElement(using: &random) { context.delete(folder) }
    }
  }

  // MARK: The end

  /// Sends all edits, and compares the records. Each note is edited once more, so that its client gets the server's
  /// values.
  private func differences() async throws -> [String] {
    for client in clients { try await client.forwardAll() }
    for client in clients {
      try client.edit { context in
        for note in try context.fetch(FetchRequest(Note.self)) { note.rank += 1000 }
      }
    }
    var differences: [String] = []
    var known: Set<String> = []
    for (number, client) in clients.enumerated() {
      let rest = try await client.forwardAll()
      if rest > 0 { differences.append("client \(number) has \(rest) entries left") }
      let local = try records(of: client)
      known.formUnion(local.keys)
      for (id, record) in local {
        let remote = await server.records[id]
        if remote.map(Self.comparable) != record {
          differences.append("client \(number), record \(id): \(record) and \(remote.map(Self.comparable) ?? [])")
        }
      }
    }
    let unknown = await server.records.keys.filter { !known.contains($0) }
    if !unknown.isEmpty { differences.append("only the server has \(unknown.sorted())") }
    return differences
  }

  /// The records of a client by identifier.
  private func records(of client: NoteStack) throws -> [String: [AttributeValue]] {
    try client.read { context in
      var records: [String: [AttributeValue]] = [:]
      for folder in try context.fetch(FetchRequest(NoteFolder.self)) { records[folder.id] = [.string(folder.name)] }
      for note in try context.fetch(FetchRequest(Note.self)) {
        let folder = note.folder.map { AttributeValue.string($0.id) } ?? .null
        records[note.id] = [.string(note.title), .int(note.rank), folder]
      }
      return records
    }
  }

  private static func comparable(_ record: NoteServer.Record) -> [AttributeValue] {
    if record.entityName == NoteFolder.entityName { return [record.values["name"] ?? .null] }
    return [record.values["title"] ?? .null, record.values["rank"] ?? .null, record.folder]
  }
}

/// A generator of random lost requests and lost replies.
private final class RandomFaults: Sendable {
  private let random: Mutex<SeededRandom>
  private let probability: Double

  init(seed: UInt64, probability: Double) {
    random = Mutex(SeededRandom(seed: seed))
    self.probability = probability
  }

  func next() -> NoteServer.Fault? {
    random.withLock { random in
      guard random.isTrue(probability) else { return nil }
      return random.isTrue(0.5) ? .loseAnswer : .fail(LostAnswer())
    }
  }
}
