import CoherenceCore
import CoherenceStrategies
import Synchronization

extension GenericConnect: ActionManager {
  @discardableResult
  public final func execute<A: GenericAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<Void> {
    let observation = ActionObservation(of: action, in: persistentStoreCoordinator)
    return try dispatcher.submit(
      ActionOrder(
        action: action, options: options, completion: completionBlock,
        body: .blocking { _ in try observation.attempt { try action.execute() } }))
  }

  @discardableResult
  public final func execute<A: AsyncGenericAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output> {
    let observation = ActionObservation(of: action, in: persistentStoreCoordinator)
    return try dispatcher.submit(
      ActionOrder(
        action: action, options: options, completion: completionBlock,
        body: .asynchronous { _ in try await observation.attempt { try await action.execute() } }))
  }

  @discardableResult
  public final func execute<A: EntityAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<Void> {
    let observation = ActionObservation(of: action, in: persistentStoreCoordinator)
    return try dispatcher.submit(
      ActionOrder(
        action: action, entity: try entity(named: action.entityName, of: A.ManagedObjectType.self), options: options,
        completion: completionBlock,
        body: .blocking { [weak self] handle in
          let stack = try ActionStack(of: self, for: handle)
          try withExtendedLifetime(stack) {
            try observation.attempt { try action.execute(context: stack.context) }
            stack.noteUnsavedChanges(of: handle)
          }
        }))
  }

  @discardableResult
  public final func execute<A: AsyncEntityAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output> {
    let observation = ActionObservation(of: action, in: persistentStoreCoordinator)
    return try dispatcher.submit(
      ActionOrder(
        action: action, entity: try entity(named: action.entityName, of: A.ManagedObjectType.self), options: options,
        completion: completionBlock,
        body: .asynchronous { [weak self] handle in
          let stack = try ActionStack(of: self, for: handle)
          defer { withExtendedLifetime(stack) {} }
          let output = try await observation.attempt { try await action.execute(context: stack.context) }
          stack.noteUnsavedChanges(of: handle)
          return output
        }))
  }

  private func entity(named name: String?, of objectClass: ManagedObject.Type) throws -> EntityDescription {
    let entity =
      name.map { managedObjectModel.entitiesByName[$0] } ?? (try? managedObjectModel.entity(for: objectClass))
    if let entity { return entity }
    throw CoherenceError(.unmanagedEntity, "Entity '\(name ?? "\(objectClass)")' not managed by Connect")
  }
}

/// The context of an entity action, and the stores, which are not closed as long as this is referenced, even when the
/// Connect is released.
private struct ActionStack {
  let context: ActionContext
  private let container: any PersistentContainer

  /// The stack for an attempt that begins.
  init<Strategy>(of connect: GenericConnect<Strategy>?, for handle: AnyActionHandle) throws {
    guard let connect else {
      throw CoherenceError(.illegalState, "The Connect is gone; keep it while its actions are to be executed.")
    }
    container = connect.container
    context = connect.newActionContext()
    context.execution = handle
    let counter = context.counter
    handle.life.withLock { $0.counters.append(counter) }
  }

  /// Notes what an attempt that succeeded has left unsaved. Whoever was asked to end early is not blamed.
  func noteUnsavedChanges(of handle: AnyActionHandle) {
    guard context.hasUnsavedRecords, !handle.hasToEnd else { return }
    handle.life.withLock { $0.hasUnsavedChanges = true }
    handle.dispatcher.events.didLeaveChanges(handle)
  }
}
