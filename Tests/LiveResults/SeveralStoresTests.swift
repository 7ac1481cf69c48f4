import CoherenceCore
import Foundation
import Testing
import TestSupport

/// Live results of an entity that two stores hold.
@Suite("Live results of several stores", .timeLimit(.minutes(15)))
struct SeveralStoresTests {
  private static let model = Result {
    try ManagedObjectModel {
      Entity("Coupon", uniqueness: [["code"]]) {
        Attribute("code", .string)
        Attribute("value", .int64)
      }
    }
  }

  /// Two stores behind one coordinator.
  private final class Stack {
    let directory = TemporaryDirectory()
    let coordinator: PersistentStoreCoordinator
    let stores: [any PersistentStore]
    let context: ManagedObjectContext

    init(_ backend: Backend) throws {
      try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
      let coordinator = PersistentStoreCoordinator(managedObjectModel: try model.get())
      self.coordinator = coordinator
      let directory = directory
      stores = try (0..<2).map { number in
        let configuration = backend.configuration(named: "\(number)" + UUID().uuidString.filter(\.isHexDigit))
        return try coordinator.addPersistentStore(
          configuration, at: backend == .sqlite ? directory.file("\(number).sqlite") : configuration.location)
      }
      context = ManagedObjectContext(coordinator: coordinator)
    }

    deinit { for store in coordinator.persistentStores { try? coordinator.remove(store) } }

    /// Inserts a coupon into one of the stores.
    func insert(_ code: String, into store: Int) throws -> ManagedObject {
      let coupon = try context.insertNewObject(forEntityName: "Coupon")
      try coupon.setValue(code, for: "code")
      try coupon.setValue(1, for: "value")
      try context.assign(coupon, to: stores[store])
      return coupon
    }
  }

  private static var coupons: FetchRequest<ManagedObject> { FetchRequest(entityName: "Coupon") }

  @Test(arguments: Backend.available)
  func `a batch update that fails in one store shows the changes of the other, and has the outcome of both`(
    backend: Backend
  ) throws {
    let stack = try Stack(backend)
    let context = stack.context
    let coupons = try context.performAndWait {
      let coupons = try [stack.insert("a", into: 0), stack.insert("b", into: 1), stack.insert("c", into: 1)]
      try context.save()
      return coupons
    }
    let other = ManagedObjectContext(coordinator: stack.coordinator)
    let watchers = try [context, other].map { context in
      try LiveWatcher("x", Self.coupons.filter(try FetchPredicate(format: "code == 'x'")), in: context)
    }
    context.performAndWait {
      let request = BatchUpdateRequest(entityName: "Coupon", values: ["code": "x"])
      let error = #expect(throws: CoherenceError.self) { try context.execute(request) }
      #expect(error?.code == .partialSave && (error?.underlying as? CoherenceError)?.code == .uniquenessViolated)
      #expect(error?.outcomes == [stack.stores[0].identifier: .applied, stack.stores[1].identifier: .notApplied])
    }
    let codes = try context.performAndWait { try coupons.map { try $0.value(for: "code") } }
    #expect(codes == [.string("x"), .string("b"), .string("c")])
    for watcher in watchers {
      #expect(try watcher.difference() == nil)
      #expect(watcher.context.performAndWait { watcher.controller.fetchedObjects.count } == 1)
    }
  }

  @Test(arguments: Backend.available)
  func `records of two stores with equal keys and values are records of their own`(backend: Backend) throws {
    let stack = try Stack(backend)
    let context = stack.context
    let watchers = try [Self.coupons, Self.coupons.sort("value"), Self.coupons.sort("value").limit(4, offset: 1)]
      .map { try LiveWatcher("coupons", $0, in: context) }
    let coupons = try context.performAndWait {
      let coupons = try (0..<8).map { try stack.insert("\($0)", into: $0 % 2) }
      try context.save()
      #expect(Set(coupons.map(\.objectID)).count == 8)
      return coupons
    }
    for watcher in watchers { #expect(try watcher.difference() == nil) }
    for index in [7, 0, 3, 2, 5] {
      try context.performAndWait {
        context.delete(coupons[index])
        try context.save()
      }
      for watcher in watchers { #expect(try watcher.difference() == nil) }
    }
  }
}
