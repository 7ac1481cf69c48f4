/// Decides which actions can finish while one action, the waiter, cannot.
///
/// The detector collects every action that the awaited actions require, directly or not, and then removes each action
/// whose requirements can finish (Kahn's algorithm). Actions that remain wait, directly or not, for the waiter or for a
/// cycle of actions. The cost is proportional to the number of collected actions and of their requirements.
struct DeadlockDetector<Item: AnyObject> {
  /// The condition under which an action can finish: groups of actions, of each of which a number must finish first.
  struct Requirement {
    /// The groups with their numbers. A group with fewer actions than its number is never complete.
    fileprivate let groups: [(actions: [Item], count: Int)]

    /// The action can finish by itself.
    static var none: Requirement { Requirement(groups: []) }
    /// The action cannot finish before the waiter does.
    static var waiter: Requirement { Requirement(groups: [(actions: [], count: 1)]) }
    /// The end of all of some actions.
    static func all(_ actions: [Item]) -> Requirement { Requirement(groups: actions.map { (actions: [$0], count: 1) }) }
    /// The end of one of some actions; none, for an empty list.
    static func any(_ actions: [Item]) -> Requirement { atLeast(min(1, actions.count), of: actions) }
    /// The end of a number of actions; none, for zero.
    static func atLeast(_ count: Int, of actions: [Item]) -> Requirement {
      Requirement(groups: count == 0 ? [] : [(actions: actions, count: count)])
    }
    /// This requirement and another one.
    func and(_ other: Requirement) -> Requirement { Requirement(groups: groups + other.groups) }
  }

  /// The name of a group: the action whose requirement has the group, and the index of the group in the requirement.
  private struct Group: Hashable {
    let action: ObjectIdentifier
    let index: Int
  }

  /// By action, the groups that contain the action, each with the action whose requirement has the group.
  private var dependents: [ObjectIdentifier: [(action: Item, group: Group)]] = [:]
  /// By group, the number of further actions whose proof to finish completes the group; negative for a group with more
  /// such actions than it needs.
  private var missingCounts: [Group: Int] = [:]
  /// By collected action, the number of its groups without a proof that enough actions of the group finish.
  private var unprovenCounts: [ObjectIdentifier: Int] = [:]
  /// Actions proved to finish, whose dependents still await their update.
  private var finishable: [Item] = []

  /// Proves which of the awaited and required actions can finish.
  ///
  /// - Parameters:
  ///   - awaited: The actions that the waiter is about to wait for.
  ///   - waiter: The waiting action; `nil` for a waiter outside of actions.
  ///   - requirement: Returns the requirement of an action. Called once for each collected action, and not for the
  ///     waiter.
  init(awaited: [Item], by waiter: Item?, requirement: (Item) -> Requirement) {
    collect(from: awaited, except: waiter, requirement)
    while let action = finishable.popLast() {
      for (dependent, group) in dependents[ObjectIdentifier(action)] ?? [] { countDown(group, of: dependent) }
    }
  }

  /// Whether an awaited or required action can finish. The waiter cannot.
  func canFinish(_ action: Item) -> Bool { unprovenCounts[ObjectIdentifier(action)] == 0 }

  /// Collects the awaited actions and all actions that they require, directly or not.
  private mutating func collect(from awaited: [Item], except waiter: Item?, _ requirement: (Item) -> Requirement) {
    var frontier = awaited
    while let action = frontier.popLast() {
      guard action !== waiter, unprovenCounts[ObjectIdentifier(action)] == nil else { continue }
      let groups = requirement(action).groups
      unprovenCounts[ObjectIdentifier(action)] = groups.count
      if groups.isEmpty { finishable.append(action) }
      for (index, (actions, count)) in groups.enumerated() {
        let group = Group(action: ObjectIdentifier(action), index: index)
        missingCounts[group] = count
        for required in actions { dependents[ObjectIdentifier(required), default: []].append((action, group)) }
        frontier += actions
      }
    }
  }

  /// Notes that an action of a group can finish, and with it perhaps the action whose requirement has the group.
  private mutating func countDown(_ group: Group, of action: Item) {
    let missingCount = missingCounts[group, default: 0] - 1
    missingCounts[group] = missingCount
    guard missingCount == 0 else { return }
    let count = unprovenCounts[ObjectIdentifier(action), default: 1] - 1
    unprovenCounts[ObjectIdentifier(action)] = count
    if count == 0 { finishable.append(action) }
  }
}
