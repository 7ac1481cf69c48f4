import CoherenceModelFiles
import Foundation

/// The Swift type and the expressions for values of an attribute's kind.
struct ValueCode {
  /// The Swift type without optionality; `nil` for a kind that no type stands for.
  let type: String?
  private let kind: ModelFile.AttributeKind

  init(_ kind: ModelFile.AttributeKind) {
    self.kind = kind
    type =
      switch kind {
      case .int16: "Int16"
      case .int32: "Int32"
      case .int64: "Int64"
      case .decimal: "Decimal"
      case .double: "Double"
      case .float: "Float"
      case .string: "String"
      case .bool: "Bool"
      case .date: "Date"
      case .data, .transformable: "Data"
      case .uuid: "UUID"
      case .url: "URL"
      default: nil
      }
  }

  /// Whether the type belongs to Foundation.
  var needsFoundation: Bool { ["Decimal", "Date", "Data", "UUID", "URL"].contains(type) }

  /// An expression for a value.
  struct Expression {
    var text: String
    /// Whether the expression is a literal, so that the macro can make it a default of the model.
    var isLiteral = true
  }

  /// The expression for a text of the model file; `nil` if the text is no finite value of the kind.
  func expression(_ text: String) -> Expression? {
    switch kind {
    case .int16: integer(text, in: Int64(Int16.min)...Int64(Int16.max))
    case .int32: integer(text, in: Int64(Int32.min)...Int64(Int32.max))
    case .int64: integer(text, in: Int64.min...Int64.max)
    case .decimal: decimal(text)
    case .double: Double(text).flatMap { $0.isFinite ? Expression(text: "\($0)") : nil }
    case .float: Float(text).flatMap { $0.isFinite ? Expression(text: "\($0)") : nil }
    case .string: Expression(text: SwiftName.literal(text))
    case .bool: ValueText.boolean(text).map { Expression(text: "\($0)") }
    case .date:
      Double(text).flatMap {
        $0.isFinite ? Expression(text: "Date(timeIntervalSinceReferenceDate: \($0))", isLiteral: false) : nil
      }
    case .data, .transformable:
      Data(base64Encoded: text).map { _ in
        Expression(text: "Data(base64Encoded: \(SwiftName.literal(text)))!", isLiteral: false)
      }
    case .uuid: UUID(uuidString: text).map { Expression(text: "UUID(uuidString: \"\($0)\")!", isLiteral: false) }
    case .url:
      URL(string: text).map { _ in Expression(text: "URL(string: \(SwiftName.literal(text)))!", isLiteral: false) }
    default: nil
    }
  }

  private func integer(_ text: String, in range: ClosedRange<Int64>) -> Expression? {
    guard let value = ValueText.integer(text), range.contains(value) else { return nil }
    return Expression(text: Self.grouped(value))
  }

  /// The number with underscores between groups of three digits if it has seven digits or more.
  static func grouped(_ number: Int64) -> String {
    let digits = String(number.magnitude)
    guard digits.count >= 7 else { return String(number) }
    let groups = digits.enumerated().map { index, digit in
      index > 0 && (digits.count - index) % 3 == 0 ? "_\(digit)" : "\(digit)"
    }
    return (number < 0 ? "-" : "") + groups.joined()
  }

  /// Writes a decimal. The compiler reads a literal as a binary number and converts it to a decimal, so a decimal that
  /// this conversion would change is written by its digits.
  private func decimal(_ text: String) -> Expression? {
    guard let value = ValueText.decimal(text) else { return nil }
    if let whole = Int64("\(value)"), whole.magnitude < 1 << 53 { return Expression(text: Self.grouped(whole)) }
    if let binary = Double(text), Decimal(binary) == value, "\(binary)".allSatisfy({ $0 != "e" }) {
      return Expression(text: "\(binary)")
    }
    let sign = value.sign == .minus ? ".minus" : ".plus"
    let digits = value.significand
    guard let number = Int64("\(digits)") else {
      return Expression(text: "Decimal(string: \"\(value)\")!", isLiteral: false)
    }
    return Expression(
      text: "Decimal(sign: \(sign), exponent: \(value.exponent), significand: \(Self.grouped(number)))",
      isLiteral: false)
  }
}
