import CoherenceCore

/// A model whose entities live in two stores.
enum Shops {
  static let model = soundModel(configurations: ["Goods": ["Article"], "People": ["Customer", "Visit"]]) {
    Entity("Article") {
      Attribute("name", .string)
      Relationship("substitute", toOne: "Article", inverse: nil)
      Relationship("buyer", toOne: "Customer", inverse: "articles")
    }
    Entity("Customer") {
      Attribute("name", .string)
      Relationship("articles", toMany: "Article", inverse: "buyer")
      Relationship("visits", toMany: "Visit", inverse: "customer", deleteRule: .cascade)
    }
    Entity("Visit") {
      Attribute("name", .string)
      Relationship("customer", toOne: "Customer", inverse: "visits")
    }
  }
}
