import CoherenceActions
@testable import CoherenceConformance
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import Synchronization

/// The client that enqueues persisted actions and runs them.
final class KillActor: Sendable {
  /// The link of the actions of this process to the test.
  private static let link = Mutex<KillClient?>(nil)

  private let client: KillClient
  private let container: KillClient.Container
  private let actions: PersistedActions
  private let worker: PersistedActionWorker

  init(_ client: KillClient) throws {
    self.client = client
    Self.link.withLock { $0 = client }
    container = try client.open()
    actions = try PersistedActions(container)
    worker = try PersistedActionWorker(
      container, actions: [KillDeposit.self, KillCall.self, KillPages.self],
      options: PersistedActionOptions(concurrency: 3, leaseLength: .seconds(1)),
      clock: PersistedActionClock(FastClock()))
  }

  func run() async throws {
    let events = worker.events
    try await worker.start()
    guard client.command.work == .act else { return try await settle(events) }
    var random = SplitMix64(seed: client.command.seed)
    var number = client.command.firstNumber
    for _ in 0..<30 {
      let count = random.number(1...3)
      try enqueue(number..<number + count, random)
      _ = random.next()
      number += count
    }
    for await _ in events {}
  }

  private func enqueue(_ numbers: Range<Int>, _ random: SplitMix64) throws {
    var random = random
    let context = container.newBackgroundContext()
    try context.performAndWait {
      var names: [String] = []
      for number in numbers {
        switch random.number(0...2) {
        case 0:
          names.append("deposit \(number)")
          try context.enqueue(KillDeposit(name: names[names.count - 1]))
        case 1:
          names.append("call \(number)")
          try context.enqueue(KillCall(name: names[names.count - 1]))
        default:
          names.append("pages \(number)")
          try context.enqueue(KillPages(name: names[names.count - 1]))
        }
      }
      try client.tell(.willSave) { message in
        message.number = numbers.lowerBound
        message.names = names
      }
      try context.save()
      try client.tell(.didSave) { $0.number = numbers.lowerBound }
    }
  }

  /// Waits until all actions have finished.
  private func settle(_ events: AsyncStream<PersistedActionEvent>) async throws {
    let unfinished: Set<PersistedActionState> = [.scheduled, .waiting, .running]
    var iterator = events.makeAsyncIterator()
    while try await actions.counts().contains(where: { unfinished.contains($0.key) }) { _ = await iterator.next() }
    await worker.stop()
    var contents = KillContents()
    for (state, count) in try await actions.counts() { contents.states[state.rawValue] = count }
    let context = container.newBackgroundContext()
    contents = try context.performAndWait { [contents] in
      var contents = contents
      for effect in try context.fetch(FetchRequest<ManagedObject>(entityName: KillModel.effect)) {
        contents.effects[try effect.value(for: "name", as: String.self), default: 0] += 1
      }
      return contents
    }
    try client.tell(.contents) { [contents] in $0.contents = contents }
  }

  /// Sends a message of an action.
  static func tell(_ kind: KillMessage.Kind, _ name: String, _ number: Int) throws {
    try link.withLock { $0 }?.tell(kind) { message in
      message.text = name
      message.number = number
    }
  }

  static let retry = PersistedRetry(attempts: 1_000_000, initialDelay: .zero, jitter: 0)

  static func insertEffect(_ name: String, in context: ManagedObjectContext) throws {
    try context.insertNewObject(forEntityName: KillModel.effect).setValue(name, for: "name")
  }
}

/// Work in the transaction of the completion.
struct KillDeposit: PersistedAction {
  static var retry: PersistedRetry { KillActor.retry }
  let name: String

  func run(in context: PersistedActionContext) async throws {
    try await context.commit { [name] in try KillActor.insertEffect(name, in: $0) }
  }
}

/// Work outside of the store.
struct KillCall: PersistedAction {
  static var retry: PersistedRetry { KillActor.retry }
  let name: String

  func run(in context: PersistedActionContext) async throws { try KillActor.tell(.effect, name, 0) }
}

/// Work in steps, each in the transaction of its checkpoint.
struct KillPages: PersistedAction {
  static let count = 3
  static var retry: PersistedRetry { KillActor.retry }
  let name: String

  func run(in context: PersistedActionContext) async throws {
    var last = try context.lastCheckpoint(as: Int.self) ?? 0
    try KillActor.tell(.begin, name, last)
    while last < Self.count {
      last += 1
      try await context.checkpoint(last) { [name, last] in try KillActor.insertEffect("\(name), page \(last)", in: $0) }
      try KillActor.tell(.checkpoint, name, last)
    }
  }
}

/// A clock whose second is a twentieth of a second, so that the shortest possible lease expires soon.
struct FastClock: Clock {
  struct Instant: InstantProtocol {
    var offset = Duration.zero
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
  }

  private static let factor = 20
  private let clock = ContinuousClock()
  private let start = ContinuousClock.now

  var now: Instant { Instant(offset: start.duration(to: clock.now) * Self.factor) }
  var minimumResolution: Duration { clock.minimumResolution * Self.factor }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let wait: (ContinuousClock.Instant, Duration?) async throws -> Void = clock.sleep
    try await wait(start + deadline.offset / Self.factor, nil)
  }
}

/// The effects of actions that a test expects.
struct ActionExpectation {
  /// The names of the actions with an acknowledged save.
  private var certain: Set<String> = []
  private var open: [Int: [String]] = [:]
  /// The number of effects outside of the store.
  private var calls: [String: Int] = [:]
  private var checkpoints: [String: Int] = [:]
  private(set) var complaints: [String] = []
  /// The number of attempts that continued from a checkpoint.
  private(set) var resumed = 0
  var acknowledged: Int { certain.count }
  /// The number of repeated effects outside of the store.
  var repeatedCalls: Int { calls.values.reduce(0) { $0 + $1 - 1 } }

  mutating func note(_ message: KillMessage) {
    switch message.kind {
    case .willSave: open[message.number] = message.names
    case .didSave: certain.formUnion(open.removeValue(forKey: message.number) ?? [])
    case .effect: calls[message.text, default: 0] += 1
    case .begin:
      let known = checkpoints[message.text] ?? 0
      if message.number < known { complaints.append("\(message.text) began at \(message.number) after \(known)") }
      if message.number > 0 { resumed += 1 }
    case .checkpoint: checkpoints[message.text] = message.number
    case .failure: complaints.append(message.text)
    case .request, .page, .contents: break
    }
  }

  /// Compares the effects of all actions, after the last has ended.
  func complaints(about contents: KillContents) -> [String] {
    var complaints = complaints
    for (name, count) in contents.effects where count != 1 { complaints.append("\(name) has \(count) effects") }
    for name in certain {
      let isDone =
        if name.hasPrefix("deposit") {
          contents.effects[name] == 1
        } else if name.hasPrefix("call") {
          (calls[name] ?? 0) >= 1
        } else {
          (1...KillPages.count).allSatisfy { contents.effects["\(name), page \($0)"] == 1 }
        }
      if !isDone { complaints.append("\(name) has no effect") }
    }
    let states = contents.states.filter { $0.key != PersistedActionState.succeeded.rawValue }
    if !states.isEmpty { complaints.append("Actions are left: \(states)") }
    return complaints
  }
}
