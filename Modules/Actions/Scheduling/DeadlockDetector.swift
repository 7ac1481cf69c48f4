/// Decides which actions can finish while one action, the waiter, cannot.
///
/// The detector collects every action that the awaited actions require, directly or not, and then removes each action
/// whose requirements can finish (Kahn's algorithm). Actions that remain wait, directly or not, for the waiter or for a
/// cycle of actions. The cost is proportional to the number of collected actions and of their requirements.
struct DeadlockDetector<Item: AnyObject> {
  /// The condition under which an action can finish: the end of all of some actions, or of any of them.
  enum Requirement {
    /// The action can finish by itself.
    case none
    /// The action cannot finish before the waiter does.
    case waiter
    case all([Item])
    /// One of these actions; none, for an empty list.
    case any([Item])

    /// The number of ``actions`` that must finish.
    fileprivate var count: Int {
      switch self {
      case .none: 0
      case .waiter: 1
      case .all(let actions): actions.count
      case .any(let actions): min(1, actions.count)
      }
    }

    fileprivate var actions: [Item] {
      switch self {
      case .none, .waiter: []
      case .all(let actions), .any(let actions): actions
      }
    }
  }

  /// By action, the actions that require it.
  private var dependents: [ObjectIdentifier: [Item]] = [:]
  /// By collected action, the number of required actions without a proof that they finish.
  private var unprovenCounts: [ObjectIdentifier: Int] = [:]
  /// Actions proved to finish, whose dependents still await their update.
  private var finishable: [Item] = []

  /// - Parameters:
  ///   - awaited: The actions that the waiter is about to wait for.
  ///   - requirement: Returns the requirement of an action. Called once for each collected action, and not for the waiter.
  init(awaited: [Item], by waiter: Item, requirement: (Item) -> Requirement) {
    collect(from: awaited, except: waiter, requirement)
    while let action = finishable.popLast() {
      for dependent in dependents[ObjectIdentifier(action)] ?? [] { countDown(dependent) }
    }
  }

  /// Whether an awaited or required action can finish. The waiter cannot.
  func canFinish(_ action: Item) -> Bool { unprovenCounts[ObjectIdentifier(action), default: 1] <= 0 }

  /// Collects the awaited actions and all actions that they require, directly or not.
  private mutating func collect(from awaited: [Item], except waiter: Item, _ requirement: (Item) -> Requirement) {
    var frontier = awaited
    while let action = frontier.popLast() {
      guard action !== waiter, unprovenCounts[ObjectIdentifier(action)] == nil else { continue }
      let requirement = requirement(action)
      unprovenCounts[ObjectIdentifier(action)] = requirement.count
      if requirement.count == 0 { finishable.append(action) }
      for required in requirement.actions { dependents[ObjectIdentifier(required), default: []].append(action) }
      frontier += requirement.actions
    }
  }

  private mutating func countDown(_ action: Item) {
    let count = unprovenCounts[ObjectIdentifier(action), default: 1] - 1
    unprovenCounts[ObjectIdentifier(action)] = count
    if count == 0 { finishable.append(action) }
  }
}
