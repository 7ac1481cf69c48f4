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
      Submission(
        action: action, options: options, completion: completionBlock,
        body: .blocking { _ in try observation.attempt { try action.execute() } }))
  }

  @discardableResult
  public final func execute<A: AsyncGenericAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output> {
    let observation = ActionObservation(of: action, in: persistentStoreCoordinator)
    return try dispatcher.submit(
      Submission(
        action: action, options: options, completion: completionBlock,
        body: .asynchronous { _ in try await observation.attempt { try await action.execute() } }))
  }

  @discardableResult
  public final func execute<A: EntityAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<Void> {
    let observation = ActionObservation(of: action, in: persistentStoreCoordinator)
    return try dispatcher.submit(
      Submission(
        action: action, entity: try entity(named: action.entityName, of: A.ManagedObjectType.self), options: options,
        completion: completionBlock,
        body: .blocking { [weak self] handle in
          let stack = try ExecutionStack(of: self, for: handle)
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
      Submission(
        action: action, entity: try entity(named: action.entityName, of: A.ManagedObjectType.self), options: options,
        completion: completionBlock,
        body: .asynchronous { [weak self] handle in
          let stack = try ExecutionStack(of: self, for: handle)
          defer { withExtendedLifetime(stack) {} }
          let output = try await observation.attempt { try await action.execute(context: stack.context) }
          stack.noteUnsavedChanges(of: handle)
          return output
        }))
  }

  /// The entity of an action in the model, by name or else by class.
  private func entity(named name: String?, of objectClass: ManagedObject.Type) throws -> EntityDescription {
    let entity =
      name.map { managedObjectModel.entitiesByName[$0] } ?? (try? managedObjectModel.entity(for: objectClass))
    if let entity { return entity }
    throw CoherenceError(
      .unmanagedEntity,
      "Entity '\(name ?? "\(objectClass)")' not managed by Connect: the model has no such entity, or several of "
        + "the class; give the action the name of an entity of the model.")
  }
}

/// The context of one attempt of an entity action, and the container whose stores stay open while the stack is referenced,
/// even when the Connect is released.
private struct ExecutionStack {
  let context: ActionContext
  private let container: any PersistentContainer

  /// Makes the stack of an attempt that begins.
  ///
  /// - Throws: ``ErrorCode/illegalState`` when the Connect is released.
  init<Strategy>(of connect: GenericConnect<Strategy>?, for handle: AnyActionHandle) throws {
    guard let connect else {
      throw CoherenceError(.illegalState, "The Connect was released; retain it until its actions have finished.")
    }
    container = connect.container
    context = connect.newActionContext()
    context.execution = handle
    let counter = context.counter
    handle.lifecycle.withLock { $0.add(counter) }
  }

  /// Records and logs unsaved changes of a successful attempt. A cancelled or expired action gets no warning: its end was
  /// requested before it could save.
  func noteUnsavedChanges(of handle: AnyActionHandle) {
    guard context.hasUnsavedRecords, !handle.isCanceledOrExpired else { return }
    handle.lifecycle.withLock { $0.hasUnsavedChanges = true }
    handle.scheduler.didLeaveUnsavedChanges(handle)
  }
}
