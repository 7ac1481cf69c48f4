import Coherence
import Testing

final class Invoice: ManagedObject, PropertyValidating {
  static let numberKey = AttributeKey<Int>("number")
  static let sumKey = AttributeKey<Int>("sum")
  static let isSentKey = AttributeKey<Bool>("isSent")

  struct Refusal: Error, CustomStringConvertible { let description: String }

  /// A variable of the object, which no store has.
  private(set) var title = ""

  override func awakeFromFetch() { title = "Invoice \(self[Self.numberKey])" }

  override func validateForDelete() throws {
    if self[Self.isSentKey] { throw Refusal(description: "a sent invoice cannot be deleted") }
  }

  func validate(_ value: AttributeValue, for property: PropertyDescription) throws {
    if property.name == "sum", case .int(let sum) = value, sum % 5 != 0 {
      throw Refusal(description: "is no multiple of five cents")
    }
  }
}

@Suite("The article about hooks")
struct HooksGuideTests {
  private static func container() throws -> GenericPersistentContainer<ContextStrategy.Mixed> {
    let model = try ManagedObjectModel(name: "Invoices") {
      Entity("Invoice", class: Invoice.self) {
        Attribute("number", .int64)
        Attribute("sum", .int64, default: 0)
        Attribute("isSent", .bool, default: false)
      }
    }
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Invoices", managedObjectModel: model)
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    return container
  }

  @Test func `hooks fill variables, validate properties and refuse deletes`() async throws {
    let container = try Self.container()
    defer { withExtendedLifetime(container) {} }
    let id = try await container.performBackgroundTask { context in
      let invoice = try Invoice(context: context)
      invoice[Invoice.numberKey] = 7
      invoice[Invoice.isSentKey] = true
      try context.save()
      return invoice.objectID
    }
    let (title, reasons) = try await container.performBackgroundTask { context in
      let invoice = try #require(try context.existingObject(with: id) as? Invoice)
      let title = invoice.title
      invoice[Invoice.sumKey] = 12
      var reasons: [String] = []
      do {
        try context.save()
      } catch let error as CoherenceError where error.code == .validationFailed {
        reasons = error.failures.map { "\($0.propertyName): \($0.reason)" }  // ["sum: is no multiple of five cents"]
      }
      context.rollback()
      context.delete(invoice)
      do {
        try context.save()
      } catch let error as CoherenceError where error.code == .validationFailed {
        reasons += error.failures.map(\.reason)
      }
      return (title, reasons)
    }
    #expect(title == "Invoice 7")
    #expect(reasons == ["sum: is no multiple of five cents", "a sent invoice cannot be deleted"])
  }
}
