import CoherenceRuntime
import Dispatch
import Foundation
import Synchronization

/// Where a context may be used: by one thread at a time, which the context's queue decides, or by one thread for good.
///
/// The rule is checked at every access to an object, in release builds too: a read of one word, and a comparison with
/// the calling thread.
final class Confinement: Sendable {
  /// The thread that is inside, zero when there is none.
  @usableFromInline let owner = Atomic<UInt>(0)
  let isMain: Bool
  /// The thread that the context belongs to for good, zero when it belongs to a queue.
  private let home: UInt
  let queue: DispatchQueue
  private let depth = Atomic<Int>(0)

  init(_ type: ManagedObjectContext.ConcurrencyType, label: String) {
    isMain = type == .mainQueue
    home = type == .currentThread ? currentThread : 0
    queue = isMain ? .main : DispatchQueue(label: label)
    if isMain { Self.markMainQueue() }
  }

  /// Whether the context belongs to one thread for good, and to no queue.
  var isOfThread: Bool { home != 0 }

  /// Whether the context is used without `perform` where it belongs: on the main actor, or on its thread.
  var isUsedDirectly: Bool { isMain || isOfThread }

  /// Whether the calling thread is where the context is used without `perform`.
  private var isAtHome: Bool { isMain ? Self.isOnMain : home == currentThread }

  /// Whether the calling thread may use the context now.
  @inline(__always) var isInside: Bool {
    owner.load(ordering: .relaxed) == currentThread || isAtHome
  }

  /// Fails loudly when the calling thread may not use the context.
  @inline(__always) func check() {
    if owner.load(ordering: .relaxed) == currentThread { return }
    checkHome()
  }

  @inline(never) private func checkHome() { Misuse.check(isAtHome, advice) }

  private var advice: String {
    if isMain {
      return "A main-queue context, or an object of it, was used off the main actor. Use `perform` or `performAndWait`."
    }
    if isOfThread {
      return "A context that belongs to a thread, or an object of it, was used on another thread. "
        + "Use a context of that other thread, or one with a queue."
    }
    return "A context, or an object of it, was used outside of its `perform` or `performAndWait`."
  }

  /// Whether the calling thread is inside by its own entry, not just on the main actor.
  var isEntered: Bool { owner.load(ordering: .relaxed) == currentThread }

  /// Enters on a thread that the queue admitted. Answers whether this is the outermost entry.
  func enter() -> Bool {
    if isEntered {
      depth.add(1, ordering: .relaxed)
      return false
    }
    owner.store(currentThread, ordering: .relaxed)
    depth.store(1, ordering: .relaxed)
    return true
  }

  func leave() {
    if depth.subtract(1, ordering: .relaxed).newValue == 0 { owner.store(0, ordering: .relaxed) }
  }

  // MARK: Main

  private static let mainKey = DispatchSpecificKey<Bool>()
  private static let mark: Void = DispatchQueue.main.setSpecific(key: mainKey, value: true)
  private static func markMainQueue() { _ = mark }

  /// Whether the caller runs on the main actor.
  ///
  /// Under an asynchronous `main` on Linux the main queue is drained by changing threads, so the queue is asked first.
  /// The thread that the process began with never runs anything but main code.
  static var isOnMain: Bool { DispatchQueue.getSpecific(key: mainKey) == true || Thread.isMainThread }
}

/// A number for the calling thread, unique among running threads and never zero.
@inline(__always) var currentThread: UInt { coherence_current_thread() }
