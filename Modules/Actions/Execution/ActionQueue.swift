import Dispatch
import Synchronization

/// Runs actions by priority and in the order in which they came, up to a number of them at once.
///
/// Each of those that run at once has a lane, a serial queue: actions block, and only serial queues are sure of a thread
/// of their own, however many others are blocked. A lane that was woken runs actions until none is left, and wakes the
/// next one if there is more to do, so that many short actions do not cost a change of threads each.
final class ActionQueue: Sendable {
  let name: String
  private let lanes: [DispatchQueue]
  private let content: Mutex<Content>

  /// What an action waits for that has no place in the backlog yet.
  enum Gate {
    /// The start of the Connect.
    case start
    case dependencies
    case limit
    /// The time before its next attempt.
    case delay
  }

  private enum Lane {
    case idle
    case woken
    case running(AnyActionHandle)
  }

  private struct Content {
    var backlog = ActionBacklog()
    var held: [ObjectIdentifier: (handle: AnyActionHandle, gate: Gate)] = [:]
    var lanes: [Lane]
    var isSuspended: Bool

    /// The lane to wake, if one is to be: one at a time, which wakes the next when it has found something to do.
    mutating func laneToWake() -> Int? {
      guard !isSuspended, !backlog.isEmpty else { return nil }
      var idle: Int?
      for (index, lane) in lanes.enumerated() {
        switch lane {
        case .woken: return nil
        case .idle: if idle == nil { idle = index }
        case .running: break
        }
      }
      if let idle { lanes[idle] = .woken }
      return idle
    }

    /// Gives the next action to a lane, or lets it rest.
    mutating func takeNext(for lane: Int) -> AnyActionHandle? {
      guard !isSuspended, let handle = backlog.popFirst() else {
        lanes[lane] = .idle
        return nil
      }
      lanes[lane] = .running(handle)
      return handle
    }
  }

  init(name: String, width: Int, isSuspended: Bool) {
    self.name = name
    lanes = (0..<width).map { _ in DispatchQueue(label: name, qos: .utility) }
    content = Mutex(Content(lanes: Array(repeating: .idle, count: width), isSuspended: isSuspended))
  }

  /// Whether actions that wait go on waiting. Running ones are not affected.
  var isSuspended: Bool {
    get { content.withLock { $0.isSuspended } }
    set {
      wake(
        content.withLock { content in
          content.isSuspended = newValue
          return content.laneToWake()
        })
    }
  }

  // MARK: Coming and going

  /// The action waits in line from now on.
  func enqueue(_ handle: AnyActionHandle) {
    wake(
      content.withLock { content in
        if !content.held.isEmpty { content.held[ObjectIdentifier(handle)] = nil }
        content.backlog.append(handle)
        return content.laneToWake()
      })
  }

  /// The action waits for something else than its turn, unless somebody ended it just now.
  func hold(_ handle: AnyActionHandle, at gate: Gate) {
    content.withLock { content in
      if handle.isPending { content.held[ObjectIdentifier(handle)] = (handle, gate) }
    }
  }

  /// The action does not wait any more: it ended before its turn came.
  func withdraw(_ handle: AnyActionHandle) {
    content.withLock { content in
      if content.held.removeValue(forKey: ObjectIdentifier(handle)) == nil { content.backlog.didWithdraw() }
    }
  }

  /// Every action that has not ended.
  var unfinished: [AnyActionHandle] {
    content.withLock { content in
      let running = content.lanes.compactMap { lane in
        if case .running(let handle) = lane { handle } else { nil as AnyActionHandle? }
      }
      return running + content.held.values.map(\.handle) + content.backlog.pending
    }
  }

  /// What an action that is pending waits for.
  func obstacle(of handle: AnyActionHandle) -> Obstacle {
    content.withLock { content in
      if let held = content.held[ObjectIdentifier(handle)] { return .gate(held.gate) }
      if content.isSuspended { return .none }
      var running: [AnyActionHandle] = []
      for lane in content.lanes {
        guard case .running(let handle) = lane else { return .none }
        running.append(handle)
      }
      return .lanes(running)
    }
  }

  enum Obstacle {
    /// Its turn comes, or somebody resumes the queue.
    case none
    case gate(Gate)
    /// Every lane is taken, by these.
    case lanes([AnyActionHandle])
  }

  // MARK: Lanes

  private func wake(_ lane: Int?) {
    if let lane { lanes[lane].async { self.work(inLane: lane) } }
  }

  private func work(inLane lane: Int) {
    while let handle = takeNext(for: lane) {
      guard handle.run(inLane: lane) else { return }
    }
  }

  private func takeNext(for lane: Int) -> AnyActionHandle? {
    let (handle, other) = content.withLock { ($0.takeNext(for: lane), $0.laneToWake()) }
    wake(other)
    return handle
  }

  /// An action that ran in a task has ended.
  func laneIsFree(_ lane: Int) {
    let isAwake = content.withLock { content in
      content.lanes[lane] = content.isSuspended || content.backlog.isEmpty ? .idle : .woken
      if case .woken = content.lanes[lane] { return true }
      return false
    }
    if isAwake { wake(lane) }
  }
}
